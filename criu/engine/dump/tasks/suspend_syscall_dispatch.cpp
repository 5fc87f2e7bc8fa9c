// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/suspend_syscall_dispatch.hpp"

#include <compel/error.hpp>

namespace criu::engine {

SyscallDispatchSuspension::SyscallDispatchSuspension(compel::FrozenProcess& process) {
    for (compel::FrozenThread& thread : process.threads()) {
        const auto found = thread.tracee.userDispatch();
        all_.emplace_back(&thread.tracee, found);
        if (found)
            thread.tracee.setUserDispatch(std::nullopt);
    }
}

SyscallDispatchSuspension::~SyscallDispatchSuspension() {
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
