// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/files/owner_program.hpp"

#include <compel/injection.hpp>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/injection_record.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"

namespace criu::engine {

sockets::OwnerProgram makeOwnerProgram(FrozenTree& tree, bool mayInject, Journal& journal) {
    return [&tree, mayInject, &journal](HostPid pid, std::size_t room, const auto& compose, const auto& read) {
        FrozenTask* const task = tree.find(pid);
        if (task == nullptr || !task->alive())
            fail("process {} isn't in the tree", pid);
        if (!mayInject)
            return false;
        const ErrorContext context([&] { return task->describe(); });
        compel::FrozenProcess& process = *task->process;
        const std::size_t size = pageAlignUp(room + pie::kStackSize + compel::signalFrameRoom());
        pie::recordInjection(pie::InjectedBlob::Interpreter, pid, task->stat.startTime, size, journal);
        compel::Injection injection(process.leader(), pie::interpreterBlob(), size, process.syscallInstruction());
        pie::RemoteData data(injection.data());
        pie::StepList steps;
        compose(steps, data);
        const RemoteProgram program = runProgram(injection, steps, data, process.leader());
        injection.cure();
        read(data, program.steps);
        return true;
    };
}

}  // namespace criu::engine
