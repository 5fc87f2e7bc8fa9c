// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <unordered_map>
#include <vector>

#include "criu/model/process_tree.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/seccomp.hpp"

namespace criu::engine {

/// What takes a thread's right to anything else: its credentials, and what their change resets. `mm`: for the leader,
/// when all other threads have theirs.
void addLastSteps(const ThreadCoreEntry& core, const MmEntry* mm, const task::Credentials& now, pie::StepList& steps,
                  pie::RemoteData& data);

/// The same for all threads of a process under seccomp, from outside. Installing filters takes rights that the thread
/// has only before, and with a filter in place it is the tracer who has to keep it from working until the end.
/// `process` has parked, is seized with seccomp suspended, and has nothing of criu left in it. `threads`: its threads
/// by their numbers in the image.
void finishUnderSeccomp(compel::FrozenProcess& process, const std::unordered_map<pid_t, compel::FrozenThread*>& threads,
                        const model::Task& task, const std::vector<task::SeccompPlan>& plans,
                        const task::Credentials& now);

}  // namespace criu::engine
