// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "criu/base/unique_fd.hpp"

/// Functions for tun and tap devices, for those parts of their state that only descriptors show. <linux/if_tun.h>
/// defines the constants.
namespace criu::kernel {

/// Attachment of a descriptor of /dev/net/tun to a device.
struct TunAttachment {
    std::string device;
    std::uint32_t flags = 0;  ///< IFF_… flags; the kernel also sets IFF_NO_PI if the descriptor has no packet filter
    bool detached = false;    ///< true if the queue is detached from its multiqueue device
};

/// Settings of a device that only its descriptors show.
struct TunSettings {
    std::uint32_t headerSize = 0;  ///< size of the virtio-net header in bytes
    std::uint32_t sendBuffer = 0;  ///< size of the send buffer in bytes
    bool littleEndian = false;     ///< true if the virtio-net header is little-endian
    bool filtered = false;         ///< true if a BPF filter is attached
};

/// Reads the attachment of a descriptor; nullopt if it isn't attached to a device.
std::optional<TunAttachment> readTunAttachment(int fd);

/// Reads the settings. `fd` must be attached to the device; `tap` is true for a tap device.
TunSettings readTunSettings(int fd, bool tap);

/// Reads the TUN_F_… flags that a program has set for a device of the calling thread's network namespace.
std::uint32_t readTunOffload(const std::string& device);

/// Attaches a descriptor of /dev/net/tun to a device. If the descriptor's network namespace has no device of this name,
/// creates it. `index`: index of a created device; with 0, the kernel chooses it.
void attachTun(int fd, const std::string& device, std::uint32_t flags, std::uint32_t index = 0);

/// Detaches the queue of an attached descriptor from its multiqueue device.
void detachTunQueue(int fd);

/// Sets whether the device continues to exist without an open descriptor.
void setTunPersistent(int fd, bool persistent);

/// Sets all values of TunSettings except the filter.
void writeTunSettings(int fd, const TunSettings& settings);

void writeTunOffload(int fd, std::uint32_t offload);

/// Sets the user and the group that may attach to the device; -1 allows all.
void writeTunOwner(int fd, std::int32_t user, std::int32_t group);

}  // namespace criu::kernel
