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

/// Adds the last steps of a thread's restore: its credentials, after which it may have no right to anything else, and
/// the attributes that the kernel resets when credentials change: dumpable of the process and the thread's death signal
/// (prctl(2)). `mm`: the process' memory layout for its leader, which comes when all other threads are done; null for
/// the others.
void addLastSteps(const ThreadCoreEntry& core, const MmEntry* mm, const task::Credentials& now, pie::StepList& steps,
                  pie::RemoteData& data);

/// Carries the last steps out for all threads of a process under seccomp, together with installing its filters, from
/// outside. Installing a filter takes rights that the thread has only before its last steps (CAP_SYS_ADMIN,
/// seccomp(2)), and a filter in place would forbid these steps, were it not suspended by the tracer
/// (PTRACE_O_SUSPEND_SECCOMP). `process` has parked, is seized with seccomp suspended, and has nothing of criu left in
/// it. `threads`: its threads by their ids in the image.
void finishUnderSeccomp(compel::FrozenProcess& process, const std::unordered_map<pid_t, compel::FrozenThread*>& threads,
                        const model::Task& task, const std::vector<task::SeccompPlan>& plans,
                        const task::Credentials& now);

}  // namespace criu::engine
