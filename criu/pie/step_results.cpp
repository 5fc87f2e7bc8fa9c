// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/step_results.hpp"

#include <functional>

#include "criu/base/error.hpp"

namespace criu::engine {

namespace {

/// Throws Error with the name of the failed step if a program didn't complete. `sent`: data before the run. `data`:
/// data after the run, read from the process.
void requireComplete(pie::RemoteData& sent, pie::RemoteData& data, const RemoteProgram& program) {
    const pid_t tid = program.thread->tid();
    const std::uint32_t executed = data.local<pie::Program>(program.program).executed;
    if (program.count == 0)
        return;
    if (executed == 0 || executed > program.count)
        fail("thread {}: another process changed its program during the run", tid);
    const std::uint64_t at = program.steps + sizeof(pie::Step) * (executed - 1);
    const auto& step = sent.local<pie::Step>(at);
    const std::int64_t result = data.local<pie::Step>(at).result;
    if (executed == program.count && pie::passes(step, result))
        return;
    failWith(static_cast<int>(-result), "thread {}: {} {:#x} (system call {})", tid, pie::subjectText(step.subject),
             step.detail, step.number);
}

/// Returns the number of bytes for the stack of a thread. A thread of a restore needs no signal frame: it is killed if
/// criu ends, so its registers needn't be restored.
std::size_t stackRoom(const compel::Tracee& thread) {
    return pie::kStackSize + (thread.options().killOnExit ? 0 : compel::signalFrameRoom());
}

}  // namespace

RemoteProgram placeProgram(pie::StepList& steps, pie::RemoteData& data, compel::Tracee* thread) {
    RemoteProgram placed;
    placed.thread = thread;
    placed.program = steps.place(data, 0, 0, false);
    const auto& head = data.local<pie::Program>(placed.program);
    placed.steps = head.steps;
    placed.count = head.count;
    const std::size_t stack = thread != nullptr ? stackRoom(*thread) : pie::kStackSize;
    placed.stackTop = data.reserve(stack) + stack;
    return placed;
}

std::vector<compel::BlobRun> startPrograms(compel::Injection& injection, pie::RemoteData& data,
                                           std::span<const RemoteProgram> programs) {
    if (data.bytes().size() > injection.dataSize())
        fail("{} bytes of steps don't fit the {} bytes in the process", data.bytes().size(), injection.dataSize());
    injection.memory().write(data.base(), data.bytes());
    std::vector<compel::BlobRun> runs;
    runs.reserve(programs.size());
    for (const RemoteProgram& each : programs)
        runs.push_back(injection.start(*each.thread, each.program, each.stackTop));
    return runs;
}

void finishPrograms(compel::Injection& injection, pie::RemoteData& data, std::span<const RemoteProgram> programs,
                    std::span<compel::BlobRun> runs, StopRequest* stop) {
    // Passes a callback to finish() only if there is a `stop`: with a callback, finish() polls with short sleeps, which
    // is slow with many threads.
    std::function<void()> look;
    if (stop != nullptr)
        look = [stop] { stop->throwIfRequested(); };
    for (compel::BlobRun& run : runs)
        run.finish(look);
    pie::RemoteData sent = data;
    injection.memory().read(data.base(), data.bytes());
    for (const RemoteProgram& each : programs)
        requireComplete(sent, data, each);
}

std::vector<compel::BlobRun> runPrograms(compel::Injection& injection, pie::RemoteData& data,
                                         std::span<const RemoteProgram> programs, StopRequest* stop) {
    std::vector<compel::BlobRun> runs = startPrograms(injection, data, programs);
    finishPrograms(injection, data, programs, runs, stop);
    return runs;
}

RemoteProgram runProgram(compel::Injection& injection, pie::StepList& steps, pie::RemoteData& data,
                         compel::Tracee& thread, StopRequest* stop) {
    const RemoteProgram program = placeProgram(steps, data, &thread);
    runPrograms(injection, data, {&program, 1}, stop);
    return program;
}

}  // namespace criu::engine
