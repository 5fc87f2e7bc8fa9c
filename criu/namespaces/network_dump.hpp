// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/links.hpp"
#include "criu/namespaces/tun_devices.hpp"

namespace criu::namespaces {

/// The content of the tree's network namespace. All calls from a thread that is in it.
class NetworkDump {
public:
    /// `number`: of the namespace, in images. `externalName`: the namespace isn't the tree's to keep; on restore it is
    /// given anew under this name.
    NetworkDump(std::uint32_t number, std::optional<std::string> externalName, Log& log)
        : number_(number), externalName_(std::move(externalName)), log_(log) {}

    /// Refuses what can't be dumped: devices other than loopback and tun, and what needs a program that isn't
    /// installed.
    void check();

    /// Writes the images. Not before the namespace stands still.
    void write(const ImageDir& images, const TunDevices& tunDevices);

private:
    void writeSettings(const ImageDir& images, const TunDevices& tunDevices);
    void writeText(const ImageDir& images, ImageKind kind, std::string_view text) const;

    std::uint32_t number_;
    std::optional<std::string> externalName_;
    Log& log_;
    std::vector<kernel::NetworkLink> links_;  ///< those that go into the images
};

}  // namespace criu::namespaces
