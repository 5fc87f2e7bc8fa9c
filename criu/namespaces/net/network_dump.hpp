// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <optional>
#include <string>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/namespaces/net/device_dump.hpp"
#include "criu/namespaces/net/tun_devices.hpp"

namespace criu::namespaces {

/// Rule by which a network namespace is dumped.
struct NetworkRule {
    /// Name of an external namespace. The user passes the namespace to the restore under this name.
    std::optional<std::string> externalName;
    bool empty = false;  ///< true if only tracked connections are dumped (--empty-ns)
};

/// Content of one network namespace. All functions must be called by a thread in that namespace.
class NetworkDump {
public:
    /// `number`: namespace id.
    NetworkDump(std::uint32_t number, NetworkRule rule, const ExternalLinks& links, StopRequest& stop, Log& log)
        : number_(number),
          externalName_(std::move(rule.externalName)),
          empty_(rule.empty),
          stop_(stop),
          log_(log),
          devices_(number, links, log) {}

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    /// Returns true if the images contain the devices of the namespace.
    [[nodiscard]] bool carriesDevices() const noexcept { return !externalName_ && !empty_; }

    /// Throws Error for devices that can't be dumped, and for content whose program isn't installed.
    void check();

    /// Reads the packet filter rules. Call it before criu adds a network lock to them; write() then writes the rules
    /// without the lock.
    void readFilters();

    /// Writes the images. All processes in the namespace must be frozen. `numbers`: namespace ids of the tree's network
    /// namespaces. The key is the `nsid` by which the kernel names such a namespace in this one.
    void write(const ImageDir& images, const TunDevices& tunDevices,
               const std::map<std::int32_t, std::uint32_t>& numbers) const;

private:
    void writeSettings(const ImageDir& images, const TunDevices& tunDevices,
                       const std::map<std::int32_t, std::uint32_t>& numbers) const;
    static void fillSettings(NetnsEntry& network, const std::map<std::int32_t, std::uint32_t>& numbers, Arena& arena);
    void writeContent(const ImageDir& images) const;
    void writeFilters(const ImageDir& images) const;
    void writeConnections(const ImageDir& images) const;
    void writeText(const ImageDir& images, ImageKind kind, std::string_view text) const;

    std::uint32_t number_;
    std::optional<std::string> externalName_;
    bool empty_;
    StopRequest& stop_;
    Log& log_;
    DeviceDump devices_;
    std::map<ImageKind, std::string> filters_;  ///< rules that readFilters() has read; empty without this call
};

}  // namespace criu::namespaces
