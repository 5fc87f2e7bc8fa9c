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

    /// Takes a file system whose daemon is a process of the tree, or that has no daemon (catatonic mode). Returns false
    /// if its daemon is an external process. Throws Error.
    bool take(const Mount& mount);
    [[nodiscard]] bool has(std::uint32_t device) const { return taken_.contains(device); }
    /// True if the file system may contain names on which nothing is mounted.
    [[nodiscard]] bool hasNames(std::uint32_t device) const;

    /// Writes the image. `opened`: a mount of the file system without mounts below it. Doesn't resolve names in it,
    /// since a lookup may wait for the daemon. Throws Error.
    void write(const ImageDir& images, const Mount& mount, const UniqueFd* opened) const;

private:
    struct Taken {
        kernel::AutofsOptions options;
        TreePid group;
        int pipe = -1;  ///< daemon's descriptor of the write end, which the kernel uses; -1: the daemon has closed it
        std::optional<int> reading;  ///< daemon's descriptor of the read end, if it has closed the write end
    };

    std::optional<Taken> find(const kernel::AutofsOptions& options) const;

    const SeenTree& tree_;
    std::map<std::uint32_t, Taken> taken_;  ///< key: device number
};

}  // namespace criu::namespaces
