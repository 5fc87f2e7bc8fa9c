// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "images/netdev.hpp"

/// Sysctls of a network namespace and its devices. All calls apply to the calling thread's namespace.
namespace criu::namespaces {

/// Fills conf4 and conf6 of a device's entry, whose name is set.
void readDeviceSettings(NetDeviceEntry& device, Arena& arena);

/// Fills the settings that don't belong to one device.
void readNetworkSettings(NetnsEntry& network, Arena& arena);

/// Throws Error if the value of a setting is neither a number nor an address.
void requireSettings(const NetDeviceEntry& device);
void requireSettings(const NetnsEntry& network);

/// How to handle a setting that this kernel lacks.
struct SettingsRule {
    bool weak = false;  ///< skip it with a warning (--weak-sysctls); otherwise throw Error
    Log& log;
};

/// Sets the values that differ. Call it after writeNetworkSettings(), which changes devices, too. Throws Error.
void writeDeviceSettings(const NetDeviceEntry& device, const SettingsRule& rule);

/// Sets the values that differ. Throws Error.
void writeNetworkSettings(const NetnsEntry& network, const SettingsRule& rule);

}  // namespace criu::namespaces
