// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "images/netdev.hpp"

/// The sysctls of a network namespace and its devices. All calls are about the namespace of the calling thread.
namespace criu::namespaces {

/// Fills conf4 and conf6 of a device's entry, whose name is set.
void readDeviceSettings(NetDeviceEntry& device, Arena& arena);

/// Fills what isn't about one device.
void readNetworkSettings(NetnsEntry& network, Arena& arena);

/// Throws Error if the value of a setting is neither a number nor an address.
void requireSettings(const NetDeviceEntry& device);
void requireSettings(const NetnsEntry& network);

/// What becomes of a setting that this kernel lacks.
struct SettingsRule {
    bool weak = false;  ///< it is left out (--weak-sysctls); otherwise it is an error
    Log& log;
};

/// Sets what differs from what the device has. After writeNetworkSettings(), which changes devices, too. Throws Error.
void writeDeviceSettings(const NetDeviceEntry& device, const SettingsRule& rule);

/// Sets what differs from what the namespace has. Throws Error.
void writeNetworkSettings(const NetnsEntry& network, const SettingsRule& rule);

}  // namespace criu::namespaces
