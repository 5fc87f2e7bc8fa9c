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

/// Functions that RestoredFile::complete() may use. Descriptors of this process are at their final numbers.
class PlacedFiles {
public:
    virtual ~PlacedFiles() = default;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Does privileged calls outside of the tree's user namespace; null if the tree has no private one.
    [[nodiscard]] virtual const kernel::Usernsd* usernsd() const = 0;
    /// Returns a descriptor of this process for the id; -1 if it has none.
    [[nodiscard]] virtual int find(FileId id) const = 0;
    /// Returns the path rights of the processes that have a description: one set for each distinct user that isn't
    /// root-equivalent.
    [[nodiscard]] virtual std::vector<kernel::FileRights> usersOf(FileId id) const = 0;
    /// Returns the pid of a process or process group of the tree in the pid namespace of this process. Zero if it
    /// doesn't exist and isn't visible here. Throws Error if it exists and isn't visible here.
    [[nodiscard]] virtual pid_t numberOf(TreePid process) const = 0;
    /// Moves a descriptor to the service range.
    virtual UniqueFd toServiceRange(UniqueFd fd) = 0;
    /// Returns a descriptor in the service range for an id that any process of the tree has.
    virtual UniqueFd fetch(FileId id) = 0;
};

}  // namespace criu::files
