// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/net/moved_device.hpp"
#include "criu/namespaces/net/network_settings.hpp"
#include "images/netdev.hpp"

namespace criu::namespaces {

/// Network namespace, with the devices that a restore creates in it. If the restore doesn't create the namespace, the
/// list of devices is empty.
struct DevicesOf {
    std::uint32_t number = 0;  ///< namespace id
    int network = -1;          ///< descriptor of the network namespace
    std::span<const Record<NetDeviceEntry>> devices;
};

/// Devices of all network namespaces of a tree. Some devices connect two namespaces of the tree, or a namespace of the
/// tree with criu's. All functions must be called by a thread in criu's namespace. Without commit(), the destructor
/// reverts the changes in criu's namespace.
class DeviceRestore {
public:
    DeviceRestore(const model::Options& options, Log& log);
    ~DeviceRestore();
    DeviceRestore(const DeviceRestore&) = delete;
    DeviceRestore& operator=(const DeviceRestore&) = delete;

    /// Throws Error if criu can't create a device on this machine. Doesn't use DevicesOf::network.
    void check(std::span<const DevicesOf> all) const;

    /// Creates all devices, in the state down. `all` and the objects to which it refers must exist until start()
    /// returns.
    void make(std::span<const DevicesOf> all);

    /// Sets options and masters of the devices, and then brings the devices up. Packets may arrive from then on.
    void start(const SettingsRule& rule);

    /// Makes changes outside of the tree permanent. Called when the restore has succeeded.
    void commit() noexcept;

private:
    struct Device {
        const DevicesOf* of;
        const NetDeviceEntry* entry;
    };
    struct Outer {
        std::string name;    ///< name of the outer end; empty if the kernel chooses one
        std::string bridge;  ///< bridge that the outer end joins; empty for none
    };
    struct Touched {
        UniqueFd network;
        std::uint32_t index = 0;
        /// State of a device before it was moved into the tree; unset if it wasn't moved.
        std::optional<kernel::NetworkLink> moved;
    };

    [[nodiscard]] const std::string* movedFrom(const NetDeviceEntry& device) const;
    [[nodiscard]] static const NetDeviceEntry* find(std::span<const DevicesOf> all, std::uint32_t number,
                                                    std::uint32_t index, const DevicesOf** of);
    [[nodiscard]] bool isMade(const NetDeviceEntry& device) const;
    void makeOne(std::span<const DevicesOf> all, const DevicesOf& of, const NetDeviceEntry& device);
    void moveIn(const DevicesOf& of, const NetDeviceEntry& device, const std::string& from);
    void makeVeth(std::span<const DevicesOf> all, const DevicesOf& of, const NetDeviceEntry& device);
    void makeVethToOutside(const DevicesOf& of, const NetDeviceEntry& device, const Outer& outer, int network);
    void makeMacvlan(std::span<const DevicesOf> all, const DevicesOf& of, const NetDeviceEntry& device);
    [[nodiscard]] static const NetDeviceEntry* lowerOf(std::span<const DevicesOf> all, const DevicesOf& of,
                                                       const NetDeviceEntry& device, const DevicesOf** lowerIn);
    void makePlain(std::span<const DevicesOf> all, const DevicesOf& of, const NetDeviceEntry& device);
    void startOne(const Device& device, const SettingsRule& rule) const;

    Log& log_;
    std::map<std::string, Outer, std::less<>> outerEnds_;  ///< outer ends; the key is the name of a veth device
    /// Names of parents; the key is the name of a macvlan device.
    std::map<std::string, std::string, std::less<>> parents_;
    /// Names of devices in criu's namespace that criu moves into the tree; the key is the name in the tree.
    std::map<std::string, std::string, std::less<>> moved_;
    UniqueFd home_;  ///< descriptor of criu's network namespace; set by make()
    std::set<const NetDeviceEntry*> making_;
    std::vector<Device> made_;                         ///< devices in an order in which they can be started
    std::map<int, std::unique_ptr<NetworkPin>> pins_;  ///< by the descriptor of the network namespace
    std::vector<Touched> touched_;
    bool committed_ = false;
};

}  // namespace criu::namespaces
