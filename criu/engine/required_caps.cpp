// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/required_caps.hpp"

#include <linux/capability.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "criu/base/error.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::engine {
namespace {

/// Throws Error if Yama has scope 3, which forbids ptrace(2) even with all capabilities (Linux,
/// Documentation/admin-guide/LSM/Yama.rst).
void requireTracing() {
    std::string scope;
    try {
        scope = kernel::ProcDir().readFile("sys/kernel/yama/ptrace_scope");
    } catch (const Error&) {
        return;  // a kernel without Yama
    }
    if (!scope.starts_with('3'))
        return;
    Error error(EPERM, "Yama forbids tracing altogether here: kernel.yama.ptrace_scope is 3");
    error.addHint("only a boot with another value ends that");
    throw error;
}

}  // namespace

void requireCommandCaps(options::Command command) {
    using enum options::Command;
    if (command != Dump && command != PreDump && command != Restore && command != Check)
        return;
    requireTracing();
    std::vector<std::string> missing;
    // The kernel accepts either capability for /proc/PID/map_files and for `set_tid` of clone3(2).
    if (!kernel::hasCapability(CAP_SYS_ADMIN) && !kernel::hasCapability(CAP_CHECKPOINT_RESTORE))
        missing.emplace_back("CAP_SYS_ADMIN (or CAP_CHECKPOINT_RESTORE)");
    // Doesn't require CAP_SYS_PTRACE from a criu of an ordinary user, because criu may trace processes of this user
    // without it (ptrace(2)).
    if (!kernel::hasCapability(CAP_SYS_PTRACE) && ::geteuid() == 0)
        missing.emplace_back(kernel::capabilityName(CAP_SYS_PTRACE));
    if (missing.empty())
        return;
    Error error(EPERM, fmt::format("criu has no {}, without which it can't {}", fmt::join(missing, " and no "),
                                   command == Restore ? "restore processes" : "dump and restore processes"));
    error.addHint(::geteuid() == 0 ? "root lacks it here: give it to the container, or run criu outside of it"
                                   : "run criu as root, or give it CAP_CHECKPOINT_RESTORE for processes of your own: "
                                     "setcap cap_checkpoint_restore=ep");
    throw error;
}

}  // namespace criu::engine
