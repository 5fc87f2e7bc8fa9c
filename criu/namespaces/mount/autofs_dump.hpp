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

/// Autofs file systems of a dump whose daemons are processes of the tree.
class AutofsDump {
public:
    /// `tree` must outlive this object.
    explicit AutofsDump(const SeenTree& tree) : tree_(tree) {}

    /// Adds a file system if its daemon is a process of the tree, or if it has no daemon (catatonic mode). Returns
    /// false if the daemon is an external process. Throws Error.
    bool take(const Mount& mount);
    [[nodiscard]] bool has(std::uint32_t device) const { return taken_.contains(device); }
    /// Returns true if the file system may contain names on which no file system is mounted.
    [[nodiscard]] bool hasNames(std::uint32_t device) const;

    /// Writes the image. `opened`: clone of the mount, without the mounts that lie on it. Looks up no names in the
    /// clone, because a lookup may wait for the daemon. Throws Error.
    void write(const ImageDir& images, const Mount& mount, const UniqueFd* opened) const;

private:
    struct Taken {
        kernel::AutofsOptions options;
        TreePid group;
        /// Descriptor of the pipe's write end in the daemon; the kernel writes to this pipe. -1 if the daemon has
        /// closed the descriptor.
        int pipe = -1;
        /// Descriptor of the read end in the daemon; set only if the daemon has closed the write end.
        std::optional<int> reading;
    };

    std::optional<Taken> find(const kernel::AutofsOptions& options) const;

    const SeenTree& tree_;
    std::map<std::uint32_t, Taken> taken_;  ///< the key is the device number
};

}  // namespace criu::namespaces
