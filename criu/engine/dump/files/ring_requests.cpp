// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/files/ring_requests.hpp"

#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <compel/error.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/io_uring.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::engine {
namespace {

constexpr std::string_view kRing = "anon_inode:[io_uring]";

/// Returns the number of requests under way: unfinished requests that don't wait for a file to become ready, and
/// requests that a kernel thread hasn't taken yet. Wakes this thread if it sleeps. The number is inexact: a request may
/// have several completions or none.
std::uint32_t underWay(const std::vector<TaskRing>& rings) {
    std::uint32_t count = 0;
    for (const TaskRing& ring : rings) {
        const kernel::IoUringInfo info = readRing(ring);
        const auto all = static_cast<std::int32_t>(info.sqTaken - info.cqPosted);
        count += static_cast<std::uint32_t>(std::max(all - static_cast<std::int32_t>(info.waiting), 0));
        if (!info.polledByKernel || info.sqTail == info.sqTaken)
            continue;
        count += info.sqTail - info.sqTaken;
        // The program has passed these requests to the kernel thread, and would wake the thread with its next call.
        const UniqueFd copy = kernel::PidFd::ofTask(ring.task->actor().value).getFd(ring.fd);
        (void)::syscall(SYS_io_uring_enter, copy.get(), 0, 0, IORING_ENTER_SQ_WAKEUP, nullptr, std::size_t{0});
    }
    return count;
}

/// Makes each thread call io_uring_enter(2) without submitting requests. When this call returns, the kernel has run the
/// thread's deferred work (task_work), which includes completions of requests. For rings with
/// IORING_SETUP_DEFER_TASKRUN, the kernel runs this work only in io_uring_enter(2) of the ring owner.
void runDeferredTaskWork(const TaskRing& ring) {
    const auto instruction = ring.task->process->syscallInstruction();
    for (compel::FrozenThread& thread : ring.task->process->threads()) {
        compel::RemoteSyscalls calls(thread.tracee, instruction);
        (void)calls.call(SYS_io_uring_enter, ring.fd, 0, 0, IORING_ENTER_GETEVENTS, 0, 0);
    }
}

}  // namespace

kernel::IoUringInfo readRing(const TaskRing& ring) {
    constexpr int kMostTries = 1000;
    constexpr std::chrono::milliseconds kPause{1};
    kernel::ProcBuffer buffer;
    for (int tries = 1;; ++tries) {
        const std::string text = kernel::readFdInfo(ring.task->dir, ring.fd, buffer).text;
        // Throws the error of the last attempt.
        if (tries == kMostTries)
            return kernel::parseIoUring(text);
        if (auto info = kernel::findIoUring(text))
            return *std::move(info);
        std::this_thread::sleep_for(kPause);
    }
}

std::vector<TaskRing> findRings(FrozenTree& tree) {
    std::vector<TaskRing> rings;
    for (const auto& task : tree.tasks()) {
        if (!task->alive() || task->compat || !task->process->maps(kRing))
            continue;
        for (const int fd : kernel::readDescriptors(task->dir))
            if (task->dir.readLink(fmt::format("fd/{}", fd)) == kRing)
                rings.push_back({task.get(), fd});
    }
    return rings;
}

void awaitRingRequests(const std::vector<TaskRing>& rings, StopRequest& stop, Log& log) {
    constexpr std::chrono::seconds kMost{10};
    constexpr std::chrono::seconds kMostInVain{1};
    constexpr std::chrono::microseconds kFirstPause{200};
    constexpr std::chrono::milliseconds kLongestPause{20};
    std::uint32_t left = underWay(rings);
    if (left == 0)
        return;
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const std::uint32_t all = left;
    auto changed = begin;
    for (std::chrono::microseconds nap = kFirstPause; left != 0;
         nap = std::min<std::chrono::microseconds>(nap * 2, kLongestPause)) {
        stop.throwIfRequested();
        for (const TaskRing& ring : rings)
            runDeferredTaskWork(ring);
        const std::uint32_t now = underWay(rings);
        if (now != left)
            changed = Clock::now();
        left = now;
        if (left == 0 || Clock::now() - changed > kMostInVain || Clock::now() - begin > kMost)
            break;
        std::this_thread::sleep_for(nap);
    }
    log.info("{} of {} requests of io_uring that were under way have ended within {} ms", all - std::min(left, all),
             all, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count());
}

}  // namespace criu::engine
