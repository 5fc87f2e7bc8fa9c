// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/probe/child.hpp"
#include "criu/kernel/probe/probes.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/kernel/proc/status.hpp"

namespace criu::kernel::probe {

bool userNs() {
    return readNamespaceId(ProcDir().self(), NamespaceKind::User).has_value() && prctlMmMap();
}

bool cgroupNs() {
    return readNamespaceId(ProcDir().self(), NamespaceKind::Cgroup).has_value();
}

bool timeNs() {
    const ProcPid self = ProcDir().self();
    return readNamespaceId(self, NamespaceKind::Time).has_value() && self.tryReadFile("timens_offsets").has_value();
}

bool nsPid() {
    ProcBuffer buffer;
    return !readStatus(ProcDir().self(), buffer).nsPid.empty();
}

bool loginUid() {
    // Runs in a child, because the probe may fail to restore the login uid, and the login uid of this process must not
    // change.
    return inChild([] {
        const ProcPid self = ProcDir().self();
        const auto before = readLoginUid(self);
        constexpr std::uint32_t unset = 0xffffffff;
        if (!before)
            return false;
        self.write("loginuid", std::to_string(unset));
        if (readLoginUid(self) != unset)
            return false;
        self.write("loginuid", std::to_string(*before));
        return readLoginUid(self) == before;
    });
}

bool clone3SetTid() {
    // Requests pid 1, because this pid always exists. The kernel returns EEXIST if the caller may choose a pid, and
    // EPERM if it may not. Both errors show that the kernel supports `set_tid`, and neither call creates a child.
    const pid_t wanted = 1;
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
    arguments.set_tid_size = 1;
    const long child = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (child == 0)
        ::_exit(0);
    return child < 0 && (errno == EEXIST || errno == EPERM);
}

bool pidfdStore() {
    const PidFd self(::getpid());
    const UniqueFd root(sys(::open("/", O_PATH | O_CLOEXEC), "open /"));
    return self.getFd(root.get()).valid();
}

bool timerRestoreIds() {
    constexpr int createRestoreIds = 77;  // PR_TIMER_CREATE_RESTORE_IDS, Linux 6.15
    constexpr int get = 2;
    return ::prctl(createRestoreIds, get, 0, 0, 0) >= 0;
}

bool membarrierRegistrations() {
    constexpr int getRegistrations = 1 << 9;  // MEMBARRIER_CMD_GET_REGISTRATIONS, Linux 6.3
    return ::syscall(SYS_membarrier, getRegistrations, 0, 0) >= 0;
}

bool appArmorStacking() {
    const ProcDir features("/sys/kernel/security/apparmor/features/domain");
    if (!features.readFile("stack").starts_with("yes"))
        return false;
    // Parses a version such as "1.2".
    const std::string version = features.readFile("version");
    Scanner scan(version);
    const int major = scan.needNumber<int>("a version");
    scan.need('.', "a dot");
    const int minor = scan.needNumber<int>("a version");
    return major > 1 || (major == 1 && minor >= 2);
}

}  // namespace criu::kernel::probe
