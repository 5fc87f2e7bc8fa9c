// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/step_results.hpp"

#include "criu/base/error.hpp"

namespace criu::engine {

void requireComplete(pie::RemoteData& data, std::uint64_t program, pid_t tid) {
    const auto& head = data.local<pie::Program>(program);
    if (head.executed == head.count)
        return;
    const auto& step = data.local<pie::Step>(head.steps + sizeof(pie::Step) * (head.executed - 1));
    failWith(static_cast<int>(-step.result), "thread {}: {} {:#x} (system call {})", tid,
             pie::subjectText(step.subject), step.detail, step.number);
}

}  // namespace criu::engine
