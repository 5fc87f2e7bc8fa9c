// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace compel {
class Injection;
}

namespace criu::engine {

struct FrozenTask;
struct TaskDumpContext;

/// Asks a process for the adjustments (semop(2), SEM_UNDO) that it holds of each set of the context, which takes them
/// up. The process itself asks, by its leader, since adjustments are its own. Throws Error.
void querySemUndo(FrozenTask& task, const TaskDumpContext& context, compel::Injection& injection);

}  // namespace criu::engine
