// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Scope in which children of this process are born into a nested pid namespace (setns(2), CLONE_NEWPID).
class PidNsForChildren {
public:
    /// `own`: pid namespace of this process; null if that is the root's. Waits until the first process of `space`
    /// exists, because its pidfd refers to the namespace. Throws Error.
    PidNsForChildren(const RestoreControl& control, const model::NestedPidNs& space, const model::NestedPidNs* own);
    ~PidNsForChildren();
    PidNsForChildren(const PidNsForChildren&) = delete;
    PidNsForChildren& operator=(const PidNsForChildren&) = delete;

    /// Drops the reversal, in a child that doesn't leave the scope.
    void forget() noexcept { home_.reset(); }

private:
    UniqueFd home_;
};

}  // namespace criu::engine
