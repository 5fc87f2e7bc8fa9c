// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/restore/restore_control.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/nested_pids.hpp"

/// Processes whose parent isn't their creator: the creator is a helper, and when it ends the kernel gives its children
/// to the nearest ancestor that is a subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)). So that each is given to the right
/// one, those who adopt take turns; at its turn a process is the only subreaper among them.
namespace criu::engine {

/// In a restored process that is alive: has its turn, if it adopts somebody, and waits for its new children. Throws
/// Error if they don't come.
void reparentInTurn(const model::BirthPlan& births, const model::Birth& self, const model::NestedPids& nested,
                    const RestoreControl& control);

/// When all have had theirs: the process is a subreaper again, as it was.
void restoreSubreaper(const model::BirthPlan& births, const RestoreControl& control);

/// In a helper whose children are to be adopted: waits for the turn of who adopts them. It is to end then.
void awaitReparentTurn(const model::BirthPlan& births, const model::Birth& self, const RestoreControl& control);

}  // namespace criu::engine
