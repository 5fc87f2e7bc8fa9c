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

/// What becomes of the content of a network namespace.
struct NetworkRule {
    /// The namespace isn't the tree's to keep; on restore it is given anew under this name.
    std::optional<std::string> externalName;
    bool empty = false;  ///< only tracked connections are kept (--empty-ns)
};

/// The content of one network namespace. All calls from a thread that is in it.
class NetworkDump {
public:
    /// `number`: of the namespace, in images.
    NetworkDump(std::uint32_t number, NetworkRule rule, const ExternalLinks& links, StopRequest& stop, Log& log)
        : number_(number),
          externalName_(std::move(rule.externalName)),
          empty_(rule.empty),
          stop_(stop),
          log_(log),
          devices_(number, links, log) {}

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    /// Whether devices go into the images.
    [[nodiscard]] bool carriesDevices() const noexcept { return !externalName_ && !empty_; }

    /// Refuses what can't be dumped: devices of unknown kinds, and what needs a program that isn't installed.
    void check();

    /// Reads the rules of the packet filter now instead of in write(): before a lock is added to them.
    void readFilters();

    /// Writes the images. Not before the namespace stands still. `numbers`: of the tree's network namespaces, by the
    /// ids that this one has for them.
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
    std::map<ImageKind, std::string> filters_;  ///< if they were read
};

}  // namespace criu::namespaces
