// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/memory_clone.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <compel/error.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/tasks/stopped_clone.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::engine {

/// Makes the stopped clone as a child of an intermediate process. When the intermediate process ends, the kernel
/// reparents the clone outside of the tree. The intermediate process shares the memory of the dumped process, so that
/// the kernel copies page tables only once, for the clone.
std::unique_ptr<StoppedClone> MemoryClone::make(FrozenTask& task, TreePid pid) {
    const auto instruction = task.process->syscallInstruction();
    compel::RemoteSyscalls calls(task.process->leader(), instruction);
    RemoteScratchPage exchange(task, calls);
    exchange.memory.writeValue(exchange.at(RemoteScratchPage::kFolder), std::array<char, 2>{'/', '\0'});
    const IgnoredSigchld unnoticed(exchange, pid);
    StoppedClone between(calls, task.dir, CLONE_VM | CLONE_FILES);
    const kernel::ProcPid dir = kernel::ProcDir().open(between.tracee().tid());
    compel::RemoteSyscalls further(between.tracee(), instruction);
    // Closes all files before the clone is created: a file that the clone has open would stay open when the dumped
    // process closes it.
    further.checkedCall("close_range", SYS_close_range, {0, ~0U, CLOSE_RANGE_UNSHARE});
    further.checkedCall("setsid", SYS_setsid, {});
    further.checkedCall("chdir", SYS_chdir, {exchange.at(RemoteScratchPage::kFolder)});
    auto clone = std::make_unique<StoppedClone>(further, dir, 0);
    // The clone has copied what the calls had changed in the memory of the dumped process.
    const compel::RemoteMemory copy(clone->tracee().tid());
    further.revertIn(copy);
    calls.revertIn(copy);
    return clone;
}

MemoryClone::MemoryClone(FrozenTask& task, TreePid pid)
    : process_(make(task, pid)),
      dir_(kernel::ProcDir().open(process_->tracee().tid())),
      memory_(dir_.open("mem", O_RDONLY)) {
    constexpr std::string_view kFirstToGo = "1000";
    dir_.write("oom_score_adj", kFirstToGo);
}

MemoryClone::~MemoryClone() = default;

std::uint64_t MemoryClone::ownBytes() const {
    const std::string text = dir_.readFile("smaps_rollup");
    std::uint64_t kilobytes = 0;
    for (const std::string_view name : {"\nPrivate_Clean:", "\nPrivate_Dirty:"}) {
        const std::size_t found = text.find(name);
        if (found == std::string::npos)
            fail("{}/smaps_rollup has no {}", dir_.path(), name.substr(1));
        const std::size_t first = text.find_first_not_of(' ', found + name.size());
        std::uint64_t value = 0;
        std::from_chars(text.data() + std::min(first, text.size()), text.data() + text.size(), value);
        kilobytes += value;
    }
    return kilobytes * 1024;
}

bool MemoryClone::isStopped() const noexcept {
    try {
        kernel::ProcBuffer buffer;
        return kernel::readStat(dir_, buffer).state == kernel::TaskState::Tracing;
    } catch (const std::exception&) {
        return false;  // the kernel has removed the clone's directory of /proc
    }
}

bool ReparentCheck::isSubreaper(FrozenTask& task) {
    const auto known = subreapers_.find(task.pid());
    if (known != subreapers_.end())
        return known->second;
    compel::RemoteSyscalls calls(task.process->leader(), task.process->syscallInstruction());
    const compel::RemoteBuffer answer(calls, sizeof(std::uint64_t));
    calls.checkedCall("prctl", SYS_prctl, {PR_GET_CHILD_SUBREAPER, answer.address()});
    const bool is = task.process->memory().readValue<std::uint32_t>(answer.address()) != 0;
    subreapers_.emplace(task.pid(), is);
    return is;
}

bool ReparentCheck::reparentsInTree(const FrozenTask& task) {
    constexpr TreePid kFirst(1);
    // Init of a pid namespace gets the orphans of the namespace. In both cases, this init is a process of the tree.
    if (tree_.tasks().front()->treePid() == kFirst || task.status.nsPid.size() > task.pidLevel + 1)
        return true;
    for (FrozenTask* at = tree_.find(task.pid()); at != nullptr; at = tree_.find(HostPid(at->stat.ppid)))
        if (at->alive() && isSubreaper(*at))
            return true;
    return false;
}

}  // namespace criu::engine
