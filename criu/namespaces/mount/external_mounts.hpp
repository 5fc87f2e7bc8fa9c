// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "criu/model/options.hpp"

namespace criu::namespaces {

/// What stands for mounts that aren't the tree's own: --external, --ext-mount-map.
class ExternalMounts {
public:
    explicit ExternalMounts(const model::Options& options) : options_(options) {}

    /// The name of a mount point (dump), or the path for a name (restore); nothing if none was given.
    [[nodiscard]] std::optional<std::string> find(std::string_view key) const;
    /// The name of a block device (dump), or the device for a name (restore).
    [[nodiscard]] std::optional<std::string> findDevice(std::string_view key) const;

    /// mnt[]: mounts that the outside has, too, are found without being named.
    [[nodiscard]] bool automatic() const;
    /// Also those that share events with the outside.
    [[nodiscard]] bool withSharing() const;
    /// Also those that get events from there.
    [[nodiscard]] bool withMasters() const;

private:
    [[nodiscard]] bool automaticWith(char flag) const;

    const model::Options& options_;
};

}  // namespace criu::namespaces
