// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "criu/model/options.hpp"

namespace criu {
class Log;
}

namespace criu::namespaces {

class SeenMounts;

/// External mounts of the options --external and --ext-mount-map.
class ExternalMounts {
public:
    explicit ExternalMounts(const model::Options& options) : options_(options) {}

    /// In a dump, returns the name that the user gave for a mount point; in a restore, the path for a name. Returns
    /// nullopt if the user gave none.
    [[nodiscard]] std::optional<std::string> find(std::string_view key) const;
    /// In a dump, returns the name that the user gave for a block device; in a restore, the device for a name.
    [[nodiscard]] std::optional<std::string> findDevice(std::string_view key) const;

    /// Returns true with --external mnt[]: all mounts that also exist in criu's mount namespace are then external.
    [[nodiscard]] bool automatic() const;
    /// Returns true if shared mounts may also be external: mnt[]:s or --enable-external-sharing.
    [[nodiscard]] bool withSharing() const;
    /// Returns true if slave mounts may also be external: mnt[]:m or --enable-external-masters.
    [[nodiscard]] bool withMasters() const;

private:
    [[nodiscard]] bool automaticWith(char flag) const;

    const model::Options& options_;
};

/// Function that offers a mount to plugins, by mount point and mount id. It returns false if no plugin takes the mount.
using MountPlugins = std::function<bool(const std::string&, int)>;

/// Finds the mounts that a restore clones from criu's mount namespace, and marks them as external. Removes mounts that
/// the tree can't reach. Returns true if criu's namespace has a mount of the root mount's file system.
bool markExternalMounts(SeenMounts& mounts, const ExternalMounts& externals, const MountPlugins& plugins, Log& log);

}  // namespace criu::namespaces
