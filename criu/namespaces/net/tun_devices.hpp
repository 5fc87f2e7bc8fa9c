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

/// Tun and tap devices of the tree's network namespaces. The kernel shows some settings only by descriptors, so the
/// dump of descriptors stores them here. The devices are dumped after all files.
class TunDevices {
public:
    /// Records that the images contain the devices of the network namespace with this namespace id.
    void setCarried(std::uint32_t network) { carried_.insert(network); }
    [[nodiscard]] bool carried(std::uint32_t network) const { return carried_.contains(network); }

    /// Stores the settings of a device, which come from a descriptor that is attached to it.
    void note(std::uint32_t network, const kernel::TunAttachment& attachment, const kernel::TunSettings& settings);

    /// Fills the tun fields of a device. A device without a descriptor in the tree must be persistent; criu temporarily
    /// attaches a descriptor to it. Throws Error.
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
