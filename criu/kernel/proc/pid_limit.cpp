// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/pid_limit.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/namespace_visit.hpp"

namespace criu::kernel {
namespace {

constexpr const char* kFile = "/proc/sys/kernel/pid_max";
constexpr const char* kLastFile = "/proc/sys/kernel/ns_last_pid";
constexpr std::size_t kText = 16;

/// Returns the number in the file `path`, or -errno. Async-signal-safe, because a child may call it: in the child, a
/// lock that another thread held at the fork stays locked.
pid_t readNumber(const char* path) noexcept {
    std::array<char, kText> text{};
    const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
    const ssize_t length = file ? ::read(file.get(), text.data(), text.size()) : -1;
    if (length < 0)
        return -errno;
    pid_t number = 0;
    std::from_chars(text.data(), text.data() + length, number);
    return number > 0 ? number : -EINVAL;
}

/// Writes the number to `path`. Async-signal-safe, like readNumber(). Returns 0 or -errno.
pid_t writeNumber(const char* path, pid_t number) noexcept {
    std::array<char, kText> text{};
    const auto [end, problem] = std::to_chars(text.data(), text.data() + text.size(), number);
    const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
    if (!file || problem != std::errc{})
        return -errno;
    return ::write(file.get(), text.data(), static_cast<std::size_t>(end - text.data())) < 0 ? -errno : 0;
}

constexpr pid_t kRead = 0;
constexpr pid_t kAskForRight = -1;

/// Reads or writes the file in this process. `wanted`: number to write; or kRead to read the number, or kAskForRight to
/// check write permission.
pid_t actHere(pid_t wanted) noexcept {
    if (wanted == kAskForRight)
        return ::faccessat(AT_FDCWD, kFile, W_OK, AT_EACCESS) == 0 ? 1 : 0;
    return wanted == kRead ? readNumber(kFile) : writeNumber(kFile, wanted);
}

/// Sets the pid that the kernel assigned last. Returns 0 or -errno.
pid_t setLastHere(pid_t last) noexcept {
    return writeNumber(kLastFile, last);
}

/// Calls `act` with `wanted` in a child; the end of the child sends no SIGCHLD. `flags`: clone flags, for instance for
/// a new pid namespace.
pid_t actInChild(pid_t (*act)(pid_t) noexcept, pid_t wanted, std::uint64_t flags) {
    const Mapping said = Mapping::anonymous(sizeof(pid_t), MAP_SHARED);
    *said.as<pid_t>() = -ECHILD;
    clone_args args{};
    args.flags = flags;
    const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
    if (child < 0)
        failErrno("create a process to look at {}", kFile);
    if (child == 0) {
        ::prctl(PR_SET_DUMPABLE, 0);  // otherwise unprivileged tasks of the child's pid namespace could trace it
        *said.as<pid_t>() = act(wanted);
        ::_exit(0);
    }
    while (::waitpid(child, nullptr, __WALL) < 0)
        if (errno != EINTR)
            failErrno("wait for process {}", child);
    return *said.as<pid_t>();
}

/// Calls `act` with `wanted` in a child in the pid namespace `space`.
pid_t actIn(int space, pid_t (*act)(pid_t) noexcept, pid_t wanted) {
    pid_t result = 0;
    runInThread([&] {
        sys(::setns(space, CLONE_NEWPID), "have a child in another pid namespace");
        result = actInChild(act, wanted, 0);
    });
    return result;
}

}  // namespace

PidLimit PidLimit::ofNew() noexcept {
    PidLimit limit;
    limit.place_ = Place::New;
    return limit;
}

pid_t PidLimit::act(pid_t wanted) const {
    switch (place_) {
        case Place::New:
            return actInChild(actHere, wanted, CLONE_NEWPID);
        case Place::Given:
            return actIn(given_, actHere, wanted);
        default:
            return actHere(wanted);
    }
}

pid_t PidLimit::highest() const {
    const pid_t limit = act(kRead);
    if (limit < 0)
        failWith(-limit, "read {}", kFile);
    return limit - 1;
}

bool PidLimit::maySet() const {
    return act(kAskForRight) == 1;
}

int PidLimit::set(pid_t highest) const {
    return -act(highest + 1);
}

void setNextPid(int pidNamespace, pid_t next) {
    const pid_t result = pidNamespace < 0 ? setLastHere(next - 1) : actIn(pidNamespace, setLastHere, next - 1);
    if (result < 0)
        failWith(-result, "write {} to {}", next - 1, kLastFile);
}

pid_t nextPid() {
    const pid_t last = readNumber(kLastFile);
    if (last < 0)
        failWith(-last, "read {}", kLastFile);
    return last + 1;
}

}  // namespace criu::kernel
