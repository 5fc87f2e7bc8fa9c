// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <optional>
#include <string>

#include "criu/image/arena.hpp"
#include "criu/kernel/links.hpp"
#include "criu/kernel/tun.hpp"
#include "images/netdev.hpp"

namespace criu::namespaces {

/// Tun and tap devices of the tree's network namespace. What only their descriptors tell is noted as these are dumped;
/// the devices themselves are dumped behind all files.
class TunDevices {
public:
    /// The devices of the tree's network namespace go into the images.
    void setCarried() { carried_ = true; }
    [[nodiscard]] bool carried() const noexcept { return carried_; }

    /// Of a descriptor that is attached to a device.
    void note(const kernel::TunAttachment& attachment, const kernel::TunSettings& settings);

    /// Fills what is particular to these devices. One that nobody of the tree is attached to must be persistent, and is
    /// attached to for a moment. Throws Error.
    void fill(const kernel::NetworkLink& link, NetDeviceEntry& device, Arena& arena) const;

private:
    struct Noted {
        std::uint32_t flags;
        kernel::TunSettings settings;
    };

    bool carried_ = false;
    std::map<std::string, Noted> noted_;
};

/// Makes a device in the calling thread's network namespace. It is persistent, so that it waits for descriptors.
void restoreTunDevice(const NetDeviceEntry& device);

}  // namespace criu::namespaces
