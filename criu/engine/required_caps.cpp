// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/required_caps.hpp"

#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <compel/error.hpp>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/ptrace_access.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::engine {
namespace {

constexpr const char* kInUserNamespace =
    "unshare --user --map-current-user --keep-caps --pid --mount --fork --mount-proc criu restore";

/// Throws Error if Yama forbids all tracing that criu needs (Linux, Documentation/admin-guide/LSM/Yama.rst). With scope
/// 3, no capability helps.
void requireTracing() {
    const kernel::YamaScope scope = kernel::readYamaScope();
    if (scope == kernel::YamaScope::Nobody) {
        Error error(EPERM, "Yama forbids tracing altogether here: kernel.yama.ptrace_scope is 3");
        error.addHint("only a boot with another value ends that");
        throw error;
    }
    if (scope == kernel::YamaScope::Capability && !kernel::hasCapability(CAP_SYS_PTRACE)) {
        Error error(EPERM, "criu has no CAP_SYS_PTRACE, and kernel.yama.ptrace_scope is 2");
        error.addHint("set it to 1 or 0, or give criu CAP_SYS_PTRACE: setcap cap_checkpoint_restore,cap_sys_ptrace=ep");
        throw error;
    }
}

/// Why the kernel doesn't let criu trace a process, and what helps.
struct Untraceable {
    std::string cause;
    std::string remedy;
};

bool isInOtherUserNamespace(const kernel::ProcDir& proc, const kernel::ProcPid& process) {
    try {
        return kernel::readNamespaceId(process, kernel::NamespaceKind::User) !=
               kernel::readNamespaceId(proc.self(), kernel::NamespaceKind::User);
    } catch (const Error&) {
        return false;  // the kernel doesn't show namespaces of a process that criu can't trace
    }
}

Untraceable causeOf(HostPid pid) {
    constexpr const char* kAsRoot = "run criu as root, or give it CAP_SYS_PTRACE";
    const kernel::ProcDir proc;
    const kernel::ProcPid process = proc.open(pid.value);
    kernel::ProcBuffer buffer;
    const kernel::TaskStatus status = kernel::readStatus(process, buffer);
    const kernel::TaskStatus own = kernel::readStatus(proc.self(), buffer);
    // The kernel compares all ids of the process with criu's real ids (__ptrace_may_access() in kernel/ptrace.c).
    for (const auto& [ids, mine, kind] :
         {std::tuple(status.uid, own.uid.real, "user"), std::tuple(status.gid, own.gid.real, "group")})
        if (ids.real != mine || ids.effective != mine || ids.saved != mine)
            return {fmt::format("it belongs to {} {}, and criu runs as {} {}", kind, ids.real, kind, mine),
                    fmt::format("{}, or run it as that {}", kAsRoot, kind)};
    if (kernel::hasCapability(CAP_SYS_PTRACE))
        return {"it is in a user namespace above criu's, or a security module forbids it",
                "run criu in the user namespace of the process"};
    if (isInOtherUserNamespace(proc, process))
        return {"it is in another user namespace", "run criu in that user namespace, or as root"};
    if (const auto more = status.capPermitted & ~own.capEffective & kernel::knownCapabilities(); more != 0) {
        unsigned first = 0;
        while ((more >> first & 1U) == 0)
            ++first;
        return {fmt::format("it has {}, which criu lacks", kernel::capabilityName(first)), kAsRoot};
    }
    if (kernel::readYamaScope() == kernel::YamaScope::Descendants && !kernel::hasCapability(CAP_SYS_PTRACE) &&
        kernel::mayLookInto(process, pid.value))
        return {"kernel.yama.ptrace_scope is 1, and criu isn't its ancestor",
                "sysctl kernel.yama.ptrace_scope=0, or give criu CAP_SYS_PTRACE: setcap "
                "cap_checkpoint_restore,cap_sys_ptrace=ep"};
    return {
        "it isn't dumpable: it has changed its ids, or its program has more rights than its user or can't be read "
        "by the user",
        kAsRoot};
}

}  // namespace

void explainUntraceable(compel::Error& error, HostPid process) {
    if (error.code() != EPERM || !error.hint().empty())
        return;
    try {
        const Untraceable found = causeOf(process);
        error.addHint(fmt::format("{}: {}", found.cause, found.remedy));
    } catch (const Error&) {
        return;  // the process has ended
    }
}

void requireTraceable(HostPid root) {
    std::optional<kernel::ProcPid> process;
    try {
        process = kernel::ProcDir().open(root.value);
    } catch (const Error&) {
        return;
    }
    if (kernel::mayLookInto(*process, root.value))
        return;
    try {
        // A kernel thread and a zombie have no program, so that the kernel shows no link. The dump refuses them.
        (void)process->readLink("cwd");
        return;
    } catch (const Error& error) {
        if (error.code() != EACCES && error.code() != EPERM)
            return;
    }
    Error error(EPERM, fmt::format("process {}: the kernel doesn't let criu trace it", root));
    explainUntraceable(error, root);
    throw error;
}

void requireChoosablePids() {
    const UniqueFd space = kernel::openOwnNamespace(kernel::NamespaceKind::Pid);
    // EPERM: the owner isn't criu's user namespace or one below it (ioctl_ns(2)).
    const UniqueFd owner(::ioctl(space.get(), NS_GET_USERNS));
    if (owner || errno != EPERM)
        return;
    Error error(EPERM,
                "criu may not choose pids here: the pid namespace belongs to a user namespace in which criu has no "
                "capabilities");
    error.addHint(
        "use restore --new-pidns, or start criu in a pid namespace of its user namespace (unshare --user "
        "--map-root-user --pid --mount --fork --mount-proc)");
    throw error;
}

void requireCommandCaps(options::Command command) {
    using enum options::Command;
    if (command != Dump && command != PreDump && command != Restore && command != Check && command != Compare)
        return;
    requireTracing();
    std::vector<std::string> missing;
    const bool administers = kernel::hasCapability(CAP_SYS_ADMIN);
    // `set_tid` of clone3(2) and PR_SET_MM need one of both. A dump finds mapped files without them
    // (kernel::openMappedFile()).
    if (!administers && !kernel::hasCapability(CAP_CHECKPOINT_RESTORE) && (command == Restore || command == Check))
        missing.emplace_back("CAP_SYS_ADMIN (or CAP_CHECKPOINT_RESTORE)");
    // Without CAP_SYS_ADMIN, criu has only processes with its own ids, which it may trace without CAP_SYS_PTRACE
    // (ptrace(2)).
    if (administers && !kernel::hasCapability(CAP_SYS_PTRACE) && ::geteuid() == 0)
        missing.emplace_back(kernel::capabilityName(CAP_SYS_PTRACE));
    if (missing.empty())
        return;
    Error error(EPERM, fmt::format("criu has no {}, without which it can't {}", fmt::join(missing, " and no "),
                                   command == Restore ? "restore processes" : "dump and restore processes"));
    error.addHint(::geteuid() == 0
                      ? "root lacks it here: give it to the container, or run criu outside of it"
                      : fmt::format("run criu as root, or give it CAP_CHECKPOINT_RESTORE for processes of your own: "
                                    "setcap cap_checkpoint_restore=ep. A dump of your own processes needs no "
                                    "capability; restore them in a user namespace: {}",
                                    kInUserNamespace));
    throw error;
}

}  // namespace criu::engine
