// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::files {

/// Functions that FileKindRestore::finish() may use. All processes are frozen and complete.
class RestoredTree {
public:
    virtual ~RestoredTree() = default;
    /// True if a process has a descriptor of the id.
    [[nodiscard]] virtual bool isHeld(FileId id) const = 0;
    /// Returns a copy of a descriptor of an id that a process has.
    virtual UniqueFd fetch(FileId id) = 0;
};

}  // namespace criu::files
