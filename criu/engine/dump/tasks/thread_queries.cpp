// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/thread_queries.hpp"

#include <compel/blob_run.hpp>

#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/pie/enter.hpp"

namespace criu::engine {

std::vector<HostPid> threadsOf(const FrozenTask& task) {
    std::vector<HostPid> threads;
    for (const compel::FrozenThread& thread : task.process->threads())
        threads.emplace_back(thread.tracee.tid());
    return threads;
}

std::size_t roomForQueries(const FrozenTask& task, std::size_t threads, std::size_t timers) {
    const std::size_t forQueries = 5376 + pie::kStackSize + compel::signalFrameRoom();
    constexpr std::size_t kForProcess = 32768;
    constexpr std::size_t kPerTimer = 5 * sizeof(pie::Step) + 96;
    const std::size_t perThread = forQueries + (task.hasRings ? task::RegisteredRingsQuery::kRoom : 0);
    return pageAlignUp(kForProcess + perThread * threads + timers * kPerTimer);
}

}  // namespace criu::engine
