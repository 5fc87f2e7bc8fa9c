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

/// Tun and tap devices of the tree's network namespaces. What only their descriptors tell is noted as these are dumped;
/// the devices themselves are dumped behind all files.
class TunDevices {
public:
    /// The devices of a network namespace, by its number in images, go there.
    void setCarried(std::uint32_t network) { carried_.insert(network); }
    [[nodiscard]] bool carried(std::uint32_t network) const { return carried_.contains(network); }

    /// Of a descriptor that is attached to a device.
    void note(std::uint32_t network, const kernel::TunAttachment& attachment, const kernel::TunSettings& settings);

    /// Fills what is particular to these devices. One that nobody of the tree is attached to must be persistent, and is
    /// attached to for a moment. Throws Error.
    void fill(std::uint32_t network, const kernel::NetworkLink& link, NetDeviceEntry& device, Arena& arena) const;

private:
    struct Noted {
        std::uint32_t flags;
        kernel::TunSettings settings;
    };

    std::set<std::uint32_t> carried_;
    std::map<std::pair<std::uint32_t, std::string>, Noted> noted_;
};

/// Makes a device in the calling thread's network namespace. It is persistent, so that it waits for descriptors.
void restoreTunDevice(const NetDeviceEntry& device);

}  // namespace criu::namespaces
