// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"

/// A thread may own an open file description (F_OWNER_TID). Processes complete their files before they create threads.
/// So the coordinator sets owners that aren't leaders, when all threads exist.
namespace criu::engine {

/// True if the owner of a description is a thread that isn't a leader.
[[nodiscard]] bool isOwnedByTid(const RestoredFiles& files, FileId id);

/// Throws Error for a description with an owner thread id that is only in flight. criu could not set its owner.
void requireReachableOwnerTids(const RestoredFiles& files);

/// Sets the owners of all such descriptions. `ids`: of the tree's user namespace. Throws Error.
void setOwnerTids(const RestoredFiles& files, files::RestoredTree& tree, const PidMap& pids, const model::IdMap& ids);

}  // namespace criu::engine
