// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/step_results.hpp"

#include "criu/base/error.hpp"

namespace criu::engine {

namespace {

/// Throws Error naming the step if the program, read back after its run, didn't come to its end.
void requireComplete(pie::RemoteData& data, std::uint64_t program, pid_t tid) {
    const auto& head = data.local<pie::Program>(program);
    if (head.executed == head.count)
        return;
    const auto& step = data.local<pie::Step>(head.steps + sizeof(pie::Step) * (head.executed - 1));
    failWith(static_cast<int>(-step.result), "thread {}: {} {:#x} (system call {})", tid,
             pie::subjectText(step.subject), step.detail, step.number);
}

}  // namespace

RemoteProgram placeProgram(pie::StepList& steps, pie::RemoteData& data, compel::Tracee* thread) {
    RemoteProgram placed;
    placed.thread = thread;
    placed.program = steps.place(data, 0, 0, false);
    placed.stackTop = data.reserve(pie::kStackSize) + pie::kStackSize;
    return placed;
}

std::vector<compel::BlobRun> runPrograms(compel::Injection& injection, pie::RemoteData& data,
                                         std::span<const RemoteProgram> programs) {
    if (data.bytes().size() > injection.dataSize())
        fail("{} bytes of steps don't fit the {} bytes in the process", data.bytes().size(), injection.dataSize());
    injection.memory().write(data.base(), data.bytes());
    std::vector<compel::BlobRun> runs;
    runs.reserve(programs.size());
    for (const RemoteProgram& each : programs)
        runs.push_back(injection.start(*each.thread, each.program, each.stackTop));
    for (compel::BlobRun& run : runs)
        run.finish();
    injection.memory().read(data.base(), data.bytes());
    for (const RemoteProgram& each : programs)
        requireComplete(data, each.program, each.thread->tid());
    return runs;
}

}  // namespace criu::engine
