// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "criu/base/unique_fd.hpp"

/// Network devices whose packets a program reads and writes (tun and tap): what can be read and set through their
/// descriptors. Numbers: <linux/if_tun.h>.
namespace criu::kernel {

/// What an open /dev/net/tun is attached to.
struct TunAttachment {
    std::string device;
    std::uint32_t flags = 0;  ///< IFF_…; IFF_NO_PI is also set where the descriptor has no packet filter
    bool detached = false;    ///< its queue of a device of several is set aside
};

/// Settings of a device that can only be read through its descriptors.
struct TunSettings {
    std::uint32_t headerSize = 0;  ///< bytes of the virtio-net header
    std::uint32_t sendBuffer = 0;  ///< bytes
    bool littleEndian = false;     ///< of that header
    bool filtered = false;         ///< packets pass a BPF filter
};

/// Nothing: it isn't attached (yet).
std::optional<TunAttachment> readTunAttachment(int fd);

/// `fd` is attached to the device.
TunSettings readTunSettings(int fd, bool tap);

/// TUN_F_… that programs have set for a device of the calling thread's network namespace.
std::uint32_t readTunOffload(const std::string& device);

/// Attaches an open /dev/net/tun to a device, which is created if there is none of the name in the network namespace of
/// the descriptor; then `index` becomes its index, 0: any.
void attachTun(int fd, const std::string& device, std::uint32_t flags, std::uint32_t index = 0);

/// Sets the queue of an attached descriptor aside.
void detachTunQueue(int fd);

/// Whether the device outlives its descriptors.
void setTunPersistent(int fd, bool persistent);

/// Sets what readTunSettings() reads, but for the filter.
void writeTunSettings(int fd, const TunSettings& settings);

void writeTunOffload(int fd, std::uint32_t offload);

/// User and group that may attach; -1: none in particular.
void writeTunOwner(int fd, std::int32_t user, std::int32_t group);

}  // namespace criu::kernel
