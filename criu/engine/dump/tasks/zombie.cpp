// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/zombie.hpp"

#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <new>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/program.hpp"

namespace criu::engine {
namespace {

using Capabilities = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

bool readCapabilities(Capabilities& all) noexcept {
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    return ::syscall(SYS_capget, &head, all.data()) == 0;
}

bool setCapabilities(const Capabilities& all) noexcept {
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    return ::syscall(SYS_capset, &head, all.data()) == 0;
}

/// Sets the ids of `identity` in the calling process. Afterwards sets the effective capabilities again, because
/// setresuid(2) clears them and setns(2) needs them. Calls the kernel directly: the libc functions would wait for other
/// threads of criu, which don't exist in the child.
bool takeIds(const ZombieIdentity& identity) noexcept {
    const auto take = [](long number, std::uint32_t id) { return ::syscall(number, id, id, id) == 0; };
    Capabilities kept{};
    if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || !take(SYS_setresgid, identity.group) ||
        !take(SYS_setresuid, identity.user) || !readCapabilities(kept))
        return false;
    for (auto& part : kept)
        part.effective = part.permitted;
    return setCapabilities(kept);
}

/// Code and data that the child executes last: steps that unmap all other memory and end the child.
class EndingCode {
public:
    EndingCode() : memory_(Mapping::anonymous(codeSize() + kData, MAP_PRIVATE)) {
        const auto code = pie::interpreterBlob().bytes;
        std::memcpy(memory_.data(), code.data(), code.size());
        const std::uint64_t end = start() + memory_.size();
        auto& data = *new (memory_.as<std::byte>() + codeSize()) Data;
        data.steps[0] = call(SYS_munmap, 0, start());
        data.steps[1] = call(SYS_munmap, end, taskSize() - end);
        data.steps[2] = call(SYS_prctl, PR_SET_DUMPABLE, 1);
        data.steps[3] = call(SYS_exit_group, 0);
        data.head.count = static_cast<std::uint32_t>(data.steps.size());
        data.head.steps = reinterpret_cast<std::uint64_t>(data.steps.data());
        sys(::mprotect(memory_.data(), codeSize(), PROT_READ | PROT_EXEC), "protect code");
    }

    [[noreturn]] void run() const noexcept {
        pie::enter(start() + pie::interpreterBlob().entryOffset, start() + codeSize(), start() + memory_.size());
    }

private:
    static constexpr std::size_t kData = 8192;  // bytes for data and stack
    struct Data {
        pie::Program head;
        std::array<pie::Step, 4> steps;
    };

    static pie::Step call(long number, std::uint64_t first, std::uint64_t second = 0) {
        pie::Step step{};
        step.op = pie::Op::Syscall;
        step.number = number;
        step.args[0] = first;
        step.args[1] = second;
        return step;
    }
    static std::size_t codeSize() { return pageAlignUp(pie::interpreterBlob().bytes.size()); }
    [[nodiscard]] std::uint64_t start() const noexcept { return reinterpret_cast<std::uint64_t>(memory_.data()); }

    Mapping memory_;
};

/// Returns an empty file system for the child's root directory. Processes that may inspect the child could otherwise
/// reach files outside of a root to which they are confined. Returns nothing if criu runs as the same user and may not
/// mount.
UniqueFd emptyRoot(const ZombieIdentity& identity) {
    try {
        return kernel::mountFileSystem({"tmpfs", "", "mode=0555,size=0", 0});
    } catch (const Error&) {
        if (::geteuid() != identity.user || ::getuid() != identity.user)
            throw;
        return UniqueFd();
    }
}

/// Ends the calling child, so that it becomes a zombie with the properties in `identity`. The exit status is 0, or
/// errno after a failure. Uses no lock of libc: if another thread of criu has such a lock during the fork, the lock
/// stays locked in the child.
[[noreturn]] void endAs(const ZombieIdentity& identity, const UniqueFd& root, const EndingCode& ending) noexcept {
    const bool became = ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
                        (!root || (::fchdir(root.get()) == 0 && ::chroot(".") == 0)) && takeIds(identity) &&
                        (!identity.userNamespace || ::setns(identity.userNamespace.get(), CLONE_NEWUSER) == 0) &&
                        setCapabilities({}) && ::close_range(0, ~0U, 0) == 0;
    if (!became)
        ::_exit(errno);
    pie::dropRseq();
    ending.run();
}

pid_t fork(pid_t wantedNumber) noexcept {
    clone_args args{};
    if (wantedNumber > 0) {
        args.set_tid = reinterpret_cast<std::uint64_t>(&wantedNumber);
        args.set_tid_size = 1;
    }
    return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
}

pid_t begin(const ZombieIdentity& identity) {
    const EndingCode ending;
    const UniqueFd root = emptyRoot(identity);
    std::optional<kernel::NamespaceVisit> visit;
    if (identity.pidNamespace)
        visit.emplace(identity.pidNamespace.get(), kernel::NamespaceKind::Pid);
    pid_t child = identity.pidNamespace && identity.wantedNumber > 0 ? fork(identity.wantedNumber) : -1;
    if (child < 0)
        child = fork(0);
    if (child < 0)
        failErrno("create a process for a moment");
    if (child == 0)
        endAs(identity, root, ending);
    return child;
}

void reap(pid_t pid) noexcept {
    while (::waitpid(pid, nullptr, __WALL) < 0 && errno == EINTR)
        continue;
}

}  // namespace

Zombie::Zombie(const ZombieIdentity& identity) : pid_(begin(identity)) {
    siginfo_t info{};
    int result;
    do
        result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | __WALL);
    while (result < 0 && errno == EINTR);
    try {
        sys(result, "wait for process {}", pid_);
        if (info.si_code != CLD_EXITED)
            fail("process {} of criu was ended", pid_);
        if (info.si_status != 0)
            failWith(info.si_status, "give a process the user {} and group {}, and the namespaces, of another",
                     identity.user, identity.group);
        kernel::ProcBuffer buffer;
        number_ = kernel::readStatus(kernel::ProcDir().open(pid_), buffer).innermostPid();
    } catch (...) {
        reap(pid_);
        throw;
    }
}

Zombie::~Zombie() {
    reap(pid_);
}

}  // namespace criu::engine
