// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/filesystem_watchdog.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::engine {
namespace {

/// Returns true for system calls that may wait for a file system, or for a child of criu that waits for a file system.
/// In other waits, criu itself checks for a stop request.
bool asksFileSystem(long call) {
    // number in /proc/PID/syscall of a thread that is blocked outside of a system call
    constexpr long kPageFault = -1;
    constexpr long kCalls[] = {
        kPageFault,
        SYS_fstat,
        SYS_newfstatat,
        SYS_statx,
        SYS_statfs,
        SYS_fstatfs,
        SYS_openat,
        SYS_openat2,
        SYS_close,
        SYS_pread64,
        SYS_readlinkat,
        SYS_getdents64,
        SYS_faccessat,
        SYS_faccessat2,
        SYS_getxattr,
        SYS_lgetxattr,
        SYS_listxattr,
        SYS_llistxattr,
        SYS_lseek,
        SYS_name_to_handle_at,
        SYS_open_by_handle_at,
        SYS_process_vm_readv,
        SYS_recvmsg,
        SYS_wait4,
        SYS_waitid,
    };
    return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

/// Creates a child that shares the descriptor table. When the calling process ends, the child still has the table, so
/// that the kernel needn't close files, which may block. The kernel kills the child when the calling thread ends.
void shareDescriptors() {
    const pid_t parent = ::getpid();
    if (sys(::syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0), "create a process that shares descriptors") != 0)
        return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parent)
        ::pause();
    ::_exit(0);
}

}  // namespace

FilesystemWatchdog::FilesystemWatchdog(std::chrono::seconds patience, StopRequest& stop, Log& log, const Names& names,
                                       Undo undo)
    : patience_(patience),
      stop_(stop),
      log_(log),
      names_(names),
      undo_(std::move(undo)),
      end_(sys(::eventfd(0, EFD_CLOEXEC), "make an event descriptor")) {
    shareDescriptors();
    thread_ = startThread([this] { run(); });
}

FilesystemWatchdog::~FilesystemWatchdog() {
    const std::uint64_t one = 1;
    (void)!::write(end_.get(), &one, sizeof(one));
    thread_.join();
}

/// Returns the name of the file system that a system call waits for. If the first argument of the call isn't a
/// descriptor of a watched file system, returns the names of all watched file systems. `call`: number and arguments of
/// the call, as in /proc/PID/syscall.
std::string FilesystemWatchdog::nameFor(const std::string& call) const {
    char* rest = nullptr;
    (void)std::strtol(call.c_str(), &rest, 10);
    const long first = std::strtol(rest, nullptr, 16);
    struct statx status {};
    if (first > 2 && ::statx(static_cast<int>(first), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0)
        if (const auto at = names_.find(makedev(status.stx_dev_major, status.stx_dev_minor)); at != names_.end())
            return at->second;
    std::string all;
    for (const auto& [device, name] : names_)
        all += (all.empty() ? "" : " or ") + name;
    return all;
}

void FilesystemWatchdog::end(const std::string& call) {
    const std::string why = fmt::format(
        "a file system that the tree uses doesn't answer: {}. Its server has stopped, or keeps a request to itself",
        nameFor(call));
    log_.error("{}. The tree goes on", why);
    try {
        undo_(why);
    } catch (const std::exception& error) {
        log_.warn("not everything is reverted: {}", error.what());
    }
    ::_exit(1);
}

void FilesystemWatchdog::run() noexcept {
    constexpr int kPause = 250;  // milliseconds
    constexpr std::chrono::seconds kAfterStop{2};
    using Clock = std::chrono::steady_clock;
    struct Wait {
        std::string call;  ///< number and arguments of the call, as in /proc/PID/syscall
        Clock::time_point since;
    };
    std::map<int, Wait> waits;
    const pid_t self = ::gettid();
    try {
        const kernel::ProcPid process = kernel::ProcDir().self();
        pollfd end{end_.get(), POLLIN, 0};
        while (::poll(&end, 1, kPause) <= 0) {
            const bool stopping = stop_.requested();
            for (const int thread : process.numbers("task")) {
                if (thread == self)
                    continue;
                std::string call(process.tryReadFile(fmt::format("task/{}/syscall", thread)).value_or(""));
                Wait& wait = waits[thread];
                if (call != wait.call || call.starts_with("running")) {
                    wait = {std::move(call), Clock::now()};
                    continue;
                }
                const auto waited = Clock::now() - wait.since;
                const bool tooLong = stopping ? waited >= kAfterStop : patience_.count() > 0 && waited >= patience_;
                if (tooLong && asksFileSystem(std::strtol(wait.call.c_str(), nullptr, 10)))
                    this->end(wait.call);
            }
        }
    } catch (const std::exception& error) {
        log_.warn("criu can't watch whether file systems answer: {}", error.what());
    }
}

}  // namespace criu::engine
