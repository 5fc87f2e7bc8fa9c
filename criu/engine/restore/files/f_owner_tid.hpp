// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"

/// Owner thread ids: a thread may own an open file description (F_OWNER_TID). Processes complete their files before
/// they create threads. So the coordinator sets owners that are threads, when all threads exist.
namespace criu::engine {

/// Returns true if the owner of an open file description is a thread that isn't a leader.
[[nodiscard]] bool isOwnedByTid(const RestoredFiles& files, FileId id);

/// Throws Error if an open file description with an owner thread id is only in flight. criu couldn't set its owner,
/// because no process has a descriptor of it.
void requireReachableOwnerTids(const RestoredFiles& files);

/// Sets the owners of all open file descriptions with owner thread ids. Throws Error. `ids`: id map of the tree's user
/// namespace.
void setOwnerTids(const RestoredFiles& files, files::RestoredTree& tree, const PidMap& pids, const model::IdMap& ids);

}  // namespace criu::engine
