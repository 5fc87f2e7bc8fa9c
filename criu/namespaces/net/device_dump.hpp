// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "criu/namespaces/net/tun_devices.hpp"
#include "images/netdev.hpp"

namespace criu::namespaces {

/// Offers a device to plugins (DUMP_EXT_LINK); false if no plugin takes it.
using ExternalLinks = std::function<bool(const kernel::NetworkLink&)>;

/// The devices of one network namespace. All calls come from a thread in that namespace.
class DeviceDump {
public:
    /// `number`: namespace id.
    DeviceDump(std::uint32_t number, const ExternalLinks& external, Log& log)
        : number_(number), external_(external), log_(log) {}

    /// Throws Error if a device can't be dumped.
    void check();

    /// Returns the messages for netdev.img. `numbers`: namespace ids of network namespaces, by their `nsid` in this
    /// one.
    [[nodiscard]] std::vector<NetDeviceEntry*> entries(const TunDevices& tunDevices,
                                                       const std::map<std::int32_t, std::uint32_t>& numbers,
                                                       Arena& arena) const;

private:
    struct Device {
        kernel::NetworkLink link;
        NdType type;
    };

    [[nodiscard]] NdType typeOf(const kernel::NetworkLink& link) const;
    void warnOfLosses(const kernel::NetworkLink& link) const;

    std::uint32_t number_;
    const ExternalLinks& external_;
    Log& log_;
    std::vector<Device> devices_;  ///< devices that images contain
};

}  // namespace criu::namespaces
