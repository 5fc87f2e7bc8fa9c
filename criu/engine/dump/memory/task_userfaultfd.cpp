// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/task_userfaultfd.hpp"

#include <sys/syscall.h>

#include <compel/error.hpp>
#include <compel/remote_syscalls.hpp>

#include "criu/base/error.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/proc/pidfd.hpp"

namespace criu::engine {

UniqueFd makeUserfaultfd(FrozenTask& task) {
    compel::RemoteSyscalls calls(task.process->leader(), task.process->syscallInstruction());
    const std::int64_t made = calls.call(SYS_userfaultfd, kernel::uffdWpFlags());
    if (compel::isSyscallError(made))
        failWith(static_cast<int>(-made), "make a userfaultfd");
    const int number = static_cast<int>(made);
    const auto close = [&] { (void)calls.call(SYS_close, number); };
    UniqueFd fd;
    try {
        fd = kernel::PidFd::ofTask(task.actor().value).getFd(number);
    } catch (...) {
        close();
        throw;
    }
    close();
    calls.restore();
    return fd;
}

}  // namespace criu::engine
