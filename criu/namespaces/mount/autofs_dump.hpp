// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "criu/base/ids.hpp"
#include "criu/kernel/autofs.hpp"

namespace criu {
class ImageDir;
}

namespace criu::namespaces {

struct Mount;
struct SeenTree;

/// Autofs file systems whose daemons are processes of the tree.
class AutofsDump {
public:
    /// `tree` outlives this object.
    explicit AutofsDump(const SeenTree& tree) : tree_(tree) {}

    /// False if neither a process of the tree serves the file system nor nobody at all. Throws Error.
    bool take(const Mount& mount);
    [[nodiscard]] bool has(std::uint32_t device) const { return taken_.contains(device); }
    /// Whether there may be something in it that isn't mounted.
    [[nodiscard]] bool hasNames(std::uint32_t device) const;

    /// `opened`: a mount of it, where nothing is mounted below. Nothing in it is looked up, since whoever does that may
    /// have to wait for the daemon. Throws Error.
    void write(const ImageDir& images, const Mount& mount, const UniqueFd* opened) const;

private:
    struct Taken {
        kernel::AutofsOptions options;
        TreePid group;
        int pipe = -1;               ///< the daemon's descriptor of the end that the kernel writes to; -1: it has none
        std::optional<int> reading;  ///< then: of the other end
    };

    std::optional<Taken> find(const kernel::AutofsOptions& options) const;

    const SeenTree& tree_;
    std::map<std::uint32_t, Taken> taken_;  ///< by device
};

}  // namespace criu::namespaces
