// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::files {

/// Functions that FileKindRestore::finish() and open() may call. All processes are complete and frozen.
class RestoredTree {
public:
    virtual ~RestoredTree() = default;
    /// Returns true if a process has a descriptor of the file.
    [[nodiscard]] virtual bool isHeld(FileId id) const = 0;
    /// Returns a copy of a descriptor that any process has of the file.
    virtual UniqueFd fetch(FileId id) = 0;
};

}  // namespace criu::files
