// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/restore/restore_control.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/nested_pids.hpp"

/// Reparenting of restored processes, to give a process a parent that hasn't created it. A helper creates the process
/// and ends. The kernel then reparents the process to the nearest subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)). The
/// future parents become subreaper one after the other, so that each is once the only subreaper.
namespace criu::engine {

/// Executes the subreaper turn of the calling process, if it has one, and waits until its new children are reparented
/// to it. All restored processes except zombies and helpers call this. Throws Error if a child isn't reparented in
/// time.
void reparentInTurn(const model::BirthPlan& births, const model::Birth& self, const model::NestedPids& nested,
                    const RestoreControl& control);

/// Waits for the end of all subreaper turns, then makes the calling process a subreaper. Call it for processes that are
/// subreapers in the images.
void restoreSubreaper(const model::BirthPlan& births, const RestoreControl& control);

/// Waits in a helper until the helper may end: until the turn of the process that gets the helper's children.
void awaitReparentTurn(const model::BirthPlan& births, const model::Birth& self, const RestoreControl& control);

}  // namespace criu::engine
