// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "images/netdev.hpp"

/// Sysctls of a network namespace and its devices. All functions apply to the calling thread's namespace.
namespace criu::namespaces {

/// Fills conf4 and conf6 of a device's entry. device.name must be set.
void readDeviceSettings(NetDeviceEntry& device, Arena& arena);

/// Fills the settings that don't belong to a single device.
void readNetworkSettings(NetnsEntry& network, Arena& arena);

/// Throw Error if the value of a setting is neither a number nor an address.
void requireSettings(const NetDeviceEntry& device);
void requireSettings(const NetnsEntry& network);

/// Rule for settings that this kernel lacks.
struct SettingsRule {
    bool weak = false;  ///< true to skip such a setting with a warning (--weak-sysctls), false to throw Error
    Log& log;
};

/// Sets those values of a device that differ. Must follow writeNetworkSettings(), because that function also changes
/// devices. Throws Error.
void writeDeviceSettings(const NetDeviceEntry& device, const SettingsRule& rule);

/// Sets those values of the namespace that differ. Throws Error.
void writeNetworkSettings(const NetnsEntry& network, const SettingsRule& rule);

}  // namespace criu::namespaces
