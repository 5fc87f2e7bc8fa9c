// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"

namespace criu::model {
struct NestedPidNs;
}

namespace criu::engine {

class RestoreControl;

/// The children of this process are born into a pid namespace below its own while this lives.
class PidNsForChildren {
public:
    /// `own`: where this process is; null: in that of the tree's root. Waits until the first process of `space` exists,
    /// by which a namespace is found. Throws Error.
    PidNsForChildren(const RestoreControl& control, const model::NestedPidNs& space, const model::NestedPidNs* own);
    ~PidNsForChildren();
    PidNsForChildren(const PidNsForChildren&) = delete;
    PidNsForChildren& operator=(const PidNsForChildren&) = delete;

    /// By a child that doesn't leave the scope: it goes nowhere.
    void forget() noexcept { home_.reset(); }

private:
    UniqueFd home_;
};

}  // namespace criu::engine
