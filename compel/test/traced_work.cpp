// SPDX-License-Identifier: LGPL-2.1-only
#include "traced_work.hpp"

#include <compel/remote_syscalls.hpp>

#include <sys/syscall.h>

namespace compel::test {

void workOn(FrozenProcess& process) {
    constexpr std::uint64_t slot = 32768;
    {
        Injection injection(process.leader(), testblob::blob, slot * process.threads().size(),
                            process.syscallInstruction());
        std::vector<BlobRun> runs;
        RemoteAddress at = injection.data();
        for (auto& thread : process.threads()) {
            injection.memory().writeValue(at, testblob::Argument{});
            runs.push_back(injection.start(thread.tracee, at, at + slot));
            at += slot;
        }
        for (BlobRun& run : runs)
            run.finish();
    }
    for (auto& thread : process.threads()) {
        RemoteSyscalls calls(thread.tracee, process.syscallInstruction());
        calls.call(SYS_getpid);
        calls.call(SYS_getppid);
    }
    process.detach();
}

void workOn(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    workOn(process);
}

std::uint64_t standbySlot() {
    return 4 * signalFrameRoom() + 16384;
}

std::vector<Standby> standBy(FrozenProcess& process, Injection& injection, std::uint64_t first) {
    const std::uint64_t slot = standbySlot();
    std::vector<Standby> standbys;
    RemoteAddress at = injection.data();
    for (auto& thread : process.threads()) {
        injection.memory().writeValue(at, testblob::Argument{.task = testblob::Task::Await, .numbers = {first}});
        standbys.push_back(Standby::place(thread.tracee, at + slot).value());
        standbys.back().enter(injection.code() + testblob::blob.entryOffset, at, at + slot / 2);
        at += slot;
    }
    return standbys;
}

Injection injectForStandby(FrozenProcess& process) {
    return {process.leader(), testblob::blob, standbySlot() * process.threads().size(), process.syscallInstruction()};
}

}  // namespace compel::test
