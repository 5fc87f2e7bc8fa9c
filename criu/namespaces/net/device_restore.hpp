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

/// A network namespace whose devices are to be made; none for one that isn't new.
struct DevicesOf {
    std::uint32_t number = 0;  ///< in images
    int network = -1;          ///< descriptor of the namespace
    std::span<const Record<NetDeviceEntry>> devices;
};

/// The devices of all network namespaces of a tree: some reach from one into another, or to criu's own. All calls by
/// a thread that is in criu's own. What it has put there or taken from there is taken back by the destructor unless all
/// is to stay.
class DeviceRestore {
public:
    DeviceRestore(const model::Options& options, Log& log);
    ~DeviceRestore();
    DeviceRestore(const DeviceRestore&) = delete;
    DeviceRestore& operator=(const DeviceRestore&) = delete;

    /// Whether all can be made here; throws Error. `network` isn't used.
    void check(std::span<const DevicesOf> all) const;

    /// Makes all, none of them up. What `all` refers to must last until start() is done.
    void make(std::span<const DevicesOf> all);

    /// Settings, masters, up: from here on packets may come.
    void start(const SettingsRule& rule);

    /// The restore has come through: what was put outside stays.
    void commit() noexcept { committed_ = true; }

private:
    struct Device {
        const DevicesOf* of;
        const NetDeviceEntry* entry;
    };
    struct Outer {
        std::string name;    ///< empty: of the kernel's choice
        std::string bridge;  ///< to join, empty: none
    };
    struct Touched {
        UniqueFd network;
        std::uint32_t index = 0;
        std::optional<kernel::NetworkLink> moved;  ///< what it was outside; nothing: it only reaches there
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
    std::map<std::string, Outer, std::less<>> outerEnds_;      ///< by names of veth devices
    std::map<std::string, std::string, std::less<>> parents_;  ///< of macvlan devices
    std::map<std::string, std::string, std::less<>> moved_;    ///< devices out there, by the names they get
    UniqueFd home_;                                            ///< criu's own namespace, from make() on
    std::set<const NetDeviceEntry*> making_;
    std::vector<Device> made_;  ///< in this order they can be started
    std::vector<Touched> touched_;
    bool committed_ = false;
};

}  // namespace criu::namespaces
