// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/file_rights.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::kernel {
class Usernsd;
}

namespace criu::files {

/// Functions that RestoredFile::complete() may call. The descriptors of this process have their final numbers.
class PlacedFiles {
public:
    virtual ~PlacedFiles() = default;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Returns the thread that makes privileged calls outside of the tree's user namespace; null if the tree has no
    /// private user namespace.
    [[nodiscard]] virtual const kernel::Usernsd* usernsd() const = 0;
    /// Returns the usernsd for opening files; null with --untrusted, because the usernsd has criu's credentials.
    [[nodiscard]] virtual const kernel::Usernsd* usernsdForPaths() const = 0;
    /// Returns a descriptor of this process for a file id, or -1 if the process has none.
    [[nodiscard]] virtual int find(FileId id) const = 0;
    /// Returns the path rights of the processes that have the file, one element for each distinct user. Omits users
    /// that are equivalent to root.
    [[nodiscard]] virtual std::vector<kernel::FileRights> usersOf(FileId id) const = 0;
    /// Returns the pid of a process or process group of the tree in the pid namespace of this process. Returns 0 if the
    /// tree has no such process. Throws Error if the process exists, but isn't visible in this pid namespace.
    [[nodiscard]] virtual pid_t numberOf(TreePid process) const = 0;
    /// Moves a descriptor into the service range.
    virtual UniqueFd toServiceRange(UniqueFd fd) = 0;
    /// Returns a service descriptor of a file that any process of the tree has open.
    virtual UniqueFd fetch(FileId id) = 0;
};

}  // namespace criu::files
