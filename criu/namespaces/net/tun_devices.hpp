// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "criu/image/arena.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "criu/kernel/net/tun.hpp"
#include "images/netdev.hpp"

namespace criu::namespaces {

/// Tun and tap devices of the tree's network namespaces. The kernel shows some settings of a device only by a
/// descriptor, so the dump of descriptors stores them here. The devices are dumped after all files.
class TunDevices {
public:
    /// Records that the images contain the devices of the network namespace with this namespace id.
    void setCarried(std::uint32_t network) { carried_.insert(network); }
    [[nodiscard]] bool carried(std::uint32_t network) const { return carried_.contains(network); }

    /// Stores the settings of a device. They come from a descriptor that a process has attached to the device.
    void note(std::uint32_t network, const kernel::TunAttachment& attachment, const kernel::TunSettings& settings);

    /// Fills the tun fields of a device. If the tree has no descriptor of the device, the device must be persistent,
    /// and criu attaches a descriptor for a moment. Throws Error.
    void fill(std::uint32_t network, const kernel::NetworkLink& link, NetDeviceEntry& device, Arena& arena) const;

private:
    struct Noted {
        std::uint32_t flags;
        kernel::TunSettings settings;
    };

    std::set<std::uint32_t> carried_;
    std::map<std::pair<std::uint32_t, std::string>, Noted> noted_;
};

/// Creates a device in the calling thread's network namespace. It is persistent until RestoredTunFile attaches a
/// descriptor. Throws Error.
void restoreTunDevice(const NetDeviceEntry& device);

}  // namespace criu::namespaces
