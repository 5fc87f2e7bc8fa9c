// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/files/ring_threads.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/engine/dump/files/ring_requests.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/files/ring_answers.hpp"
#include "criu/kernel/io_uring.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/kernel/sched.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {
namespace {

/// Beginning of the name that the kernel gives to a thread that submits requests of rings.
constexpr std::string_view kThreadName = "iou-sqp-";

/// Ring with a kernel thread.
struct PolledRing {
    int fd = -1;
    kernel::IoUringInfo info;
};

/// Kernel thread in the directory /proc/PID/task.
struct KernelThread {
    kernel::TaskStatus status;
    std::optional<std::uint32_t> cpu;  ///< only processor on which the thread may run
};

[[noreturn]] void refuse(const FrozenTask& task, int fd, std::string_view what) {
    Error error(0, fmt::format("fd {} of {} is an io_uring whose kernel thread (IORING_SETUP_SQPOLL) {}", fd,
                               task.describe(), what));
    error.addHint("start the program without IORING_SETUP_SQPOLL, or without io_uring");
    throw error;
}

std::optional<std::uint32_t> onlyCpu(pid_t tid) {
    std::optional<std::uint32_t> found;
    std::uint32_t base = 0;
    for (const std::uint64_t word : kernel::cpuAffinity(tid)) {
        if (std::popcount(word) > 1 || (word != 0 && found))
            return std::nullopt;
        if (word != 0)
            found = base + static_cast<std::uint32_t>(std::countr_zero(word));
        base += 64;
    }
    return found;
}

/// Returns the kernel threads in ascending order of their tids.
std::vector<KernelThread> kernelThreadsOf(const FrozenTask& task) {
    std::set<pid_t> own;
    for (const compel::FrozenThread& thread : task.process->threads())
        own.insert(thread.tracee.tid());
    kernel::ProcBuffer buffer;
    std::vector<KernelThread> found;
    for (const pid_t tid : kernel::readThreads(task.dir)) {
        if (own.contains(tid))
            continue;
        kernel::TaskStatus status = kernel::readThreadStatus(task.dir, tid, buffer);
        if (status.name.starts_with(kThreadName))
            found.push_back({std::move(status), onlyCpu(tid)});
    }
    return found;
}

/// Rings of one process, and the kernel threads of this process.
struct Found {
    std::vector<PolledRing> rings;
    std::set<std::int32_t> wanted;  ///< tids of the threads of the rings
    std::vector<KernelThread> threads;
};

Found find(const FrozenTask& task, const std::vector<TaskRing>& rings) {
    Found found;
    for (const TaskRing& ring : rings)
        if (kernel::IoUringInfo info = readRing(ring); info.polledByKernel) {
            found.wanted.insert(info.thread);
            found.rings.push_back({ring.fd, std::move(info)});
        }
    if (!found.rings.empty())
        found.threads = kernelThreadsOf(task);
    return found;
}

/// Repeats find() for a second at most until each ring has its thread: a new thread gets its name and tid when it runs
/// first, and the thread of a closed ring ends some time after the close.
Found await(const FrozenTask& task, const std::vector<TaskRing>& rings) {
    constexpr int kMostTries = 100;
    constexpr std::chrono::milliseconds kPause{10};
    for (int tries = 1;; ++tries) {
        Found found = find(task, rings);
        if (found.rings.empty() || found.threads.size() == found.wanted.size() || tries == kMostTries)
            return found;
        std::this_thread::sleep_for(kPause);
    }
}

bool sameCredentials(const kernel::TaskStatus& one, const kernel::TaskStatus& other) {
    return one.uid == other.uid && one.gid == other.gid && one.groups == other.groups &&
           one.capInheritable == other.capInheritable && one.capPermitted == other.capPermitted &&
           one.capEffective == other.capEffective && one.capBounding == other.capBounding &&
           one.capAmbient == other.capAmbient;
}

void examine(FrozenTask& task, const std::vector<TaskRing>& all) {
    const auto [rings, wanted, threads] = await(task, all);
    if (rings.empty())
        return;
    const int fd = rings.front().fd;
    if (threads.size() < wanted.size())
        refuse(task, fd, "belongs to another process, which can't be dumped");
    if (threads.size() > wanted.size())
        refuse(task, fd, "can't be told from that of a ring that is no descriptor of the process");
    kernel::ProcBuffer buffer;
    const kernel::TaskStatus own = kernel::readThreadStatus(task.dir, task.actor().value, buffer);
    const auto label = task::securityLabel(task.dir.thread(task.actor().value));
    for (const KernelThread& thread : threads)
        if (!sameCredentials(thread.status, own) || task::securityLabel(task.dir.thread(thread.status.pid)) != label)
            refuse(task, fd, "has other credentials than the process, which a restore couldn't give it");
    // fdinfo shows the tid of a thread in the first pid namespace, where criu may not be. In each namespace, the kernel
    // gives out tids in ascending order, so both lists of tids have the same order.
    for (const PolledRing& ring : rings) {
        const auto rank = static_cast<std::size_t>(std::distance(wanted.begin(), wanted.find(ring.info.thread)));
        task.ringThreads.emplace(ring.fd, std::make_shared<files::RingThread>(files::RingThread{threads[rank].cpu}));
    }
}

}  // namespace

void examineRingThreads(const std::vector<TaskRing>& rings) {
    std::map<FrozenTask*, std::vector<TaskRing>> ofTasks;
    for (const TaskRing& ring : rings)
        ofTasks[ring.task].push_back(ring);
    for (const auto& [task, own] : ofTasks)
        examine(*task, own);
}

}  // namespace criu::engine
