// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "criu/base/unique_fd.hpp"

/// State of tun and tap devices that is accessible through their descriptors. Constants: <linux/if_tun.h>.
namespace criu::kernel {

/// Attachment of an open /dev/net/tun.
struct TunAttachment {
    std::string device;
    std::uint32_t flags = 0;  ///< IFF_…; the kernel also sets IFF_NO_PI if the descriptor has no packet filter
    bool detached = false;    ///< the queue is detached from its multiqueue device
};

/// Settings of a device that only its descriptors show.
struct TunSettings {
    std::uint32_t headerSize = 0;  ///< size of the virtio-net header in bytes
    std::uint32_t sendBuffer = 0;  ///< send buffer size in bytes
    bool littleEndian = false;     ///< byte order of the virtio-net header
    bool filtered = false;         ///< a BPF filter is attached
};

/// Returns nullopt if the descriptor isn't attached to a device.
std::optional<TunAttachment> readTunAttachment(int fd);

/// `fd` must be attached to the device.
TunSettings readTunSettings(int fd, bool tap);

/// Reads the TUN_F_… flags that a program has set for a device of the calling thread's network namespace.
std::uint32_t readTunOffload(const std::string& device);

/// Attaches an open /dev/net/tun to a device. Creates the device if the network namespace of the descriptor has none
/// of the name. `index`: index of a created device; 0: any.
void attachTun(int fd, const std::string& device, std::uint32_t flags, std::uint32_t index = 0);

/// Detaches the queue of an attached descriptor.
void detachTunQueue(int fd);

/// Sets if the device outlives its descriptors.
void setTunPersistent(int fd, bool persistent);

/// Sets the values that readTunSettings() reads, except the filter.
void writeTunSettings(int fd, const TunSettings& settings);

void writeTunOffload(int fd, std::uint32_t offload);

/// Sets the user and group that may attach; -1: any.
void writeTunOwner(int fd, std::int32_t user, std::int32_t group);

}  // namespace criu::kernel
