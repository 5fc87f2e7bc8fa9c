// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::files {

/// What FileKindRestore::finish() may use: files of processes that stand still with everything in place.
class RestoredTree {
public:
    virtual ~RestoredTree() = default;
    /// Whether some process has the id as a descriptor.
    [[nodiscard]] virtual bool isHeld(FileId id) const = 0;
    /// A copy of a descriptor of an id that some process has.
    virtual UniqueFd fetch(FileId id) = 0;
};

}  // namespace criu::files
