// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/thread_registers.hpp"

#include <sys/syscall.h>

#include <compel/remote_syscalls.hpp>

#include <cstddef>
#include <cstring>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/enter.hpp"
#include "criu/task/registers.hpp"
#include "images/core.hpp"

namespace criu::engine {
namespace {

std::uint64_t signalMaskOf(const CoreEntry& core) {
    if (core.tc != nullptr)
        return core.tc->blk_sigset;
    return core.thread_core->has_blk_sigset != 0 ? core.thread_core->blk_sigset : 0;
}

compel::Registers asRegisters(const std::vector<std::byte>& general) {
    compel::Registers registers;
    if (general.size() != sizeof(registers.raw))
        fail("register set of {} bytes, not {}", general.size(), sizeof(registers.raw));
    std::memcpy(&registers.raw, general.data(), general.size());
    return registers;
}

compel::ThreadSegments asSegments(const std::vector<std::byte>& bytes) {
    compel::ThreadSegments segments{};
    if (bytes.size() != sizeof(segments))
        fail("segments of {} bytes, not {}", bytes.size(), sizeof(segments));
    std::memcpy(&segments, bytes.data(), bytes.size());
    return segments;
}

/// Sets the registers of a main thread that has ended in the images: it calls exit(2). Blocks all signals, because
/// the thread must not take a signal that waits for the process. `instruction`: address of a system call instruction.
void prepareEnd(compel::Tracee& leader, std::uint64_t instruction, const CoreEntry& core) {
    constexpr std::uint32_t kStatusShift = 8;  // wait(2) shows the argument of exit(2) in the second byte
    compel::Registers registers = leader.registers();
    registers.setCall(SYS_exit, {core.tc->exit_code >> kStatusShift & 0xffU}, instruction);
    leader.setRegisters(registers);
    leader.setSignalMask(~compel::SignalMask{0});
}

}  // namespace

void setRegisters(compel::FrozenProcess& process, const PrivilegeDrop::Threads& threads, const model::Task& task,
                  std::optional<std::uint64_t> restorer) {
    if (threads.size() != task.threads.size())
        fail("has {} threads instead of {}", threads.size(), task.threads.size());
    for (const model::Thread& wanted : task.threads) {
        const auto found = threads.find(wanted.tid);
        if (found == threads.end())
            fail("lacks thread {}", wanted.tid);
        compel::FrozenThread& thread = *found->second;
        const CoreEntry& core = **wanted.core;
        if (task.leaderEnded && &wanted == &task.threads.front()) {
            const auto instruction =
                restorer ? std::optional(compel::syscallInstructionIn(pie::interpreterBlob(), *restorer))
                         : process.syscallInstruction();
            if (!instruction)
                fail("its main thread can't end: its code has no system call instruction");
            prepareEnd(thread.tracee, instruction->address, core);
            continue;
        }
        const task::RegisterSets sets = task::loadRegisters(core);
        if (!sets.segments.empty())
            thread.tracee.setThreadSegments(asSegments(sets.segments));
        thread.tracee.setRegisters(asRegisters(sets.general));
        if (!sets.extended.empty())
            thread.tracee.setExtendedState(sets.extended);
        if (sets.shadowStackPointer != 0)
            thread.tracee.setShadowStackPointer(sets.shadowStackPointer);
        thread.tracee.setSignalMask(signalMaskOf(core));
    }
}

}  // namespace criu::engine
