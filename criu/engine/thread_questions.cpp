// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/thread_questions.hpp"

#include <compel/error.hpp>

#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/timers.hpp"
#include "criu/pie/enter.hpp"

namespace criu::engine {

std::size_t roomForQuestions(const FrozenTask& task, std::size_t threads, kernel::ProcBuffer& buffer) {
    constexpr std::size_t kPerThread = 4608 + pie::kStackSize;
    constexpr std::size_t kForProcess = 32768;
    constexpr std::size_t kPerTimer = 3 * sizeof(pie::Step) + 64;
    const std::size_t perThread = kPerThread + (task.hasRings ? task::RegisteredRingsQuery::kRoom : 0);
    return pageAlignUp(kForProcess + perThread * threads + kernel::readTimers(task.dir, buffer).size() * kPerTimer);
}

DispatchPause::DispatchPause(compel::FrozenProcess& process) {
    for (compel::FrozenThread& thread : process.threads()) {
        const auto found = thread.tracee.userDispatch();
        all_.emplace_back(&thread.tracee, found);
        if (found)
            thread.tracee.setUserDispatch(std::nullopt);
    }
}

DispatchPause::~DispatchPause() {
    for (const auto& [tracee, dispatch] : all_) {
        try {
            if (dispatch)
                tracee->setUserDispatch(dispatch);
        } catch (const compel::Error&) {
            continue;  // the thread was killed
        }
    }
}

}  // namespace criu::engine
