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

/// Asks plugins to take care of a device (DUMP_EXT_LINK); false: none does.
using ExternalLinks = std::function<bool(const kernel::NetworkLink&)>;

/// The devices of one network namespace. All calls from a thread that is in it.
class DeviceDump {
public:
    /// `number`: of the namespace, in images.
    DeviceDump(std::uint32_t number, const ExternalLinks& external, Log& log)
        : number_(number), external_(external), log_(log) {}

    /// Looks at the devices, and refuses those that can't be dumped. Throws Error.
    void check();

    /// The messages for netdev.img. `numbers`: of network namespaces, by the ids that this one has for them.
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
    std::vector<Device> devices_;  ///< those that go into the images
};

}  // namespace criu::namespaces
