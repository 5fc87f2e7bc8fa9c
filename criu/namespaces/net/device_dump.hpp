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

/// Function that offers a device to plugins (DUMP_EXT_LINK). It returns false if no plugin wants to dump the device.
using ExternalLinks = std::function<bool(const kernel::NetworkLink&)>;

/// Devices of one network namespace. All functions must be called by a thread in that namespace.
class DeviceDump {
public:
    /// `number`: namespace id of the network namespace.
    DeviceDump(std::uint32_t number, const ExternalLinks& external, Log& log)
        : number_(number), external_(external), log_(log) {}

    /// Reads the devices. Throws Error if a device can't be dumped.
    void check();

    /// Returns the messages for netdev.img. `numbers`: namespace ids of other network namespaces. The key is the `nsid`
    /// by which the kernel names such a namespace in this one.
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
    /// Warns of queueing disciplines below the root and of static forwarding entries, which links don't show.
    void warnOfTables() const;
    [[nodiscard]] const Device* find(std::uint32_t index) const;

    std::uint32_t number_;
    const ExternalLinks& external_;
    Log& log_;
    std::vector<Device> devices_;  ///< devices that the images contain
};

}  // namespace criu::namespaces
