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

/// External mounts: --external, --ext-mount-map.
class ExternalMounts {
public:
    explicit ExternalMounts(const model::Options& options) : options_(options) {}

    /// Returns the name of a mount point (dump) or the path for a name (restore); nothing if the user gave none.
    [[nodiscard]] std::optional<std::string> find(std::string_view key) const;
    /// Returns the name of a block device (dump) or the device for a name (restore).
    [[nodiscard]] std::optional<std::string> findDevice(std::string_view key) const;

    /// True with mnt[]: mounts that also exist in criu's mount namespace are external without being named.
    [[nodiscard]] bool automatic() const;
    /// True if shared mounts may be external, too: mnt[]:s or --enable-external-sharing.
    [[nodiscard]] bool withSharing() const;
    /// True if slave mounts may be external, too: mnt[]:m or --enable-external-masters.
    [[nodiscard]] bool withMasters() const;

private:
    [[nodiscard]] bool automaticWith(char flag) const;

    const model::Options& options_;
};

/// Offers a mount (mount point and id) to plugins; false if no plugin takes it.
using MountPlugins = std::function<bool(const std::string&, int)>;

/// Finds the mounts that a restore takes from outside of the tree, and marks them external. Leaves out mounts that the
/// tree can't reach. Returns true if criu's namespace has a mount of the file system of the tree's root.
bool markExternalMounts(SeenMounts& mounts, const ExternalMounts& externals, const MountPlugins& plugins, Log& log);

}  // namespace criu::namespaces
