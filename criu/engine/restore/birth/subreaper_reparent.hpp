// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/restore/restore_control.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/nested_pids.hpp"

/// Processes whose parent isn't their creator are reparented. A helper creates them and ends, and the kernel reparents
/// them to the nearest subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)). Future parents take turns as the only subreaper.
namespace criu::engine {

/// Executes the subreaper turn of this process if it has one, and waits for its new children. All restored processes
/// call it except zombies and helpers. Throws Error if a child isn't reparented in time.
void reparentInTurn(const model::BirthPlan& births, const model::Birth& self, const model::NestedPids& nested,
                    const RestoreControl& control);

/// Makes the process a subreaper again, if it was one in the images. Waits for the end of all turns.
void restoreSubreaper(const model::BirthPlan& births, const RestoreControl& control);

/// Waits in a helper for the turn in which its children are reparented. The helper ends afterwards.
void awaitReparentTurn(const model::BirthPlan& births, const model::Birth& self, const RestoreControl& control);

}  // namespace criu::engine
