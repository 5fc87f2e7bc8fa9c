// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/task_userfaultfd.hpp"

#include <sys/syscall.h>

#include <compel/error.hpp>
#include <compel/injection.hpp>

#include <cstdint>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/injection_record.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"

namespace criu::engine {

UniqueFd makeUserfaultfd(FrozenTask& task, Journal& journal) {
    compel::Tracee& thread = task.process->leader();
    constexpr std::size_t kSteps = 512;
    const std::size_t room = pageAlignUp(kSteps + pie::kStackSize + compel::signalFrameRoom());
    pie::recordInjection(pie::InjectedBlob::Interpreter, task.pid(), task.stat.startTime, room, journal);
    compel::Injection injection(thread, pie::interpreterBlob(), room, task.process->syscallInstruction());
    pie::RemoteData data(injection.data());
    pie::StepList steps;
    const std::uint64_t number = data.reserve(sizeof(std::uint64_t));
    constexpr std::uint16_t kFirst = 1;  // bit of the first argument
    steps.call(pie::Subject::Query, 0, SYS_userfaultfd, kernel::uffdWpFlags());
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, number);
    steps.call(pie::Subject::CloseFd, 0, SYS_close, number).indirect = kFirst;
    const RemoteProgram program = placeProgram(steps, data, &thread);
    injection.memory().write(data.base(), data.bytes());
    UniqueFd fd;
    {
        compel::BlobRun run = injection.start(thread, program.program, program.stackTop, compel::Pace::CallByCall);
        const auto made = run.awaitCall(SYS_userfaultfd);
        std::exception_ptr failure;
        try {
            if (!made)
                fail("another process changed its program during the run");
            if (!pie::passes(pie::Step{}, *made))
                failWith(static_cast<int>(-*made), "make a userfaultfd");
            fd = kernel::PidFd::ofTask(task.actor().value).getFd(static_cast<int>(*made));
        } catch (...) {
            failure = std::current_exception();
        }
        run.finish();  // also after a failure, because the process must close the descriptor
        if (failure)
            std::rethrow_exception(failure);
    }
    injection.cure();
    return fd;
}

}  // namespace criu::engine
