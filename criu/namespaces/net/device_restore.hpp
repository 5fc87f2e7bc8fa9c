// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
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
#include "criu/namespaces/net/network_settings.hpp"
#include "images/netdev.hpp"

namespace criu::namespaces {

/// A network namespace with its devices to create; no devices for one that isn't new.
struct DevicesOf {
    std::uint32_t number = 0;  ///< namespace id
    int network = -1;          ///< descriptor of the namespace
    std::span<const Record<NetDeviceEntry>> devices;
};

/// The devices of all network namespaces of a tree. Some devices connect two namespaces, or a namespace with criu's.
/// All calls come from a thread in criu's namespace. Without commit(), the destructor reverts the changes there.
class DeviceRestore {
public:
    DeviceRestore(const model::Options& options, Log& log);
    ~DeviceRestore();
    DeviceRestore(const DeviceRestore&) = delete;
    DeviceRestore& operator=(const DeviceRestore&) = delete;

    /// Throws Error if a device can't be created here. Doesn't use `network`.
    void check(std::span<const DevicesOf> all) const;

    /// Creates all devices, all of them down. The objects that `all` refers to must exist until start() returns.
    void make(std::span<const DevicesOf> all);

    /// Applies settings and masters, and brings the devices up. Packets may arrive from here on.
    void start(const SettingsRule& rule);

    /// Called when the restore has succeeded: changes outside of the tree become permanent.
    void commit() noexcept { committed_ = true; }

private:
    struct Device {
        const DevicesOf* of;
        const NetDeviceEntry* entry;
    };
    struct Outer {
        std::string name;    ///< empty: the kernel chooses one
        std::string bridge;  ///< bridge to join; empty: none
    };
    struct Touched {
        UniqueFd network;
        std::uint32_t index = 0;
        std::optional<kernel::NetworkLink> moved;  ///< state before it was moved in; empty: the device wasn't moved
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
    void startOne(const Device& device, const SettingsRule& rule) const;

    Log& log_;
    std::map<std::string, Outer, std::less<>> outerEnds_;      ///< key: name of a veth device
    std::map<std::string, std::string, std::less<>> parents_;  ///< parents of macvlan devices, by the device's name
    /// devices of criu's namespace that are moved in, by their new names
    std::map<std::string, std::string, std::less<>> moved_;
    UniqueFd home_;  ///< criu's namespace; set by make()
    std::set<const NetDeviceEntry*> making_;
    std::vector<Device> made_;  ///< in the order in which they can be started
    std::vector<Touched> touched_;
    bool committed_ = false;
};

}  // namespace criu::namespaces
