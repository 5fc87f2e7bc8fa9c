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

/// What RestoredFile::complete() may use: this process' descriptors at their final numbers.
class PlacedFiles {
public:
    virtual ~PlacedFiles() = default;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Who does what takes rights outside of the tree's user namespace; null if the tree has none of its own.
    [[nodiscard]] virtual const kernel::Usernsd* usernsd() const = 0;
    /// A descriptor of this process that refers to the id; -1 if it has none.
    [[nodiscard]] virtual int find(FileId id) const = 0;
    /// With which rights paths are to be opened for those that have a description: each kind of user that may not open
    /// whatever root may.
    [[nodiscard]] virtual std::vector<kernel::FileRights> usersOf(FileId id) const = 0;
    /// What this process calls a process or process group of the tree, in its own pid namespace; zero for one that it
    /// doesn't see and that isn't there. Throws Error for a process that is there, but can't be seen from here.
    [[nodiscard]] virtual pid_t numberOf(TreePid process) const = 0;
    /// Moves a descriptor to the service range, out of the numbers that restored files need.
    virtual UniqueFd toServiceRange(UniqueFd fd) = 0;
    /// A descriptor, in that range, of an id that any process of the tree has.
    virtual UniqueFd fetch(FileId id) = 0;
};

}  // namespace criu::files
