// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/sem_undo_queries.hpp"

#include <sys/syscall.h>

#include <compel/injection.hpp>

#include <cstdint>
#include <span>

#include "criu/base/log.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/tasks/dump_task.hpp"
#include "criu/namespaces/ipc/ipc_semaphores.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"

namespace criu::engine {

void querySemUndo(FrozenTask& task, const TaskDumpContext& context, compel::Injection& injection) {
    for (namespaces::SemaphoreSet& set : *context.semaphores) {
        const auto found = namespaces::findSemUndo(set.values, [&](std::span<const sembuf> operations) {
            pie::RemoteData data(injection.data());
            pie::StepList steps;
            const std::uint64_t resultAt = data.reserve(sizeof(std::int64_t));
            const std::uint64_t at = data.put(std::as_bytes(operations));
            steps
                .call(pie::Subject::Query, static_cast<std::uint64_t>(set.id()), SYS_semop, set.id(), at,
                      operations.size())
                .check = pie::ResultCheck::Any;
            steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, resultAt).check = pie::ResultCheck::Any;
            const RemoteProgram program = placeProgram(steps, data, &task.process->leader());
            runPrograms(injection, data, {&program, 1}, &context.stop);
            return static_cast<long>(data.local<std::int64_t>(resultAt));
        });
        if (!found) {
            context.log.debug("pid {}: semaphore set {} can't be asked for adjustments", task.pid(), set.id());
            continue;
        }
        for (const namespaces::SemUndoValue& adjustment : *found)
            set.adjustments.push_back({task.treePid(), adjustment});
    }
}

}  // namespace criu::engine
