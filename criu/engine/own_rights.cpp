// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/own_rights.hpp"

#include <linux/capability.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "criu/base/error.hpp"
#include "criu/kernel/capabilities.hpp"

namespace criu::engine {

void requireOwnRights(options::Command command) {
    using enum options::Command;
    if (command != Dump && command != PreDump && command != Restore && command != Check)
        return;
    std::vector<std::string> missing;
    // The kernel asks for one of the two where files are mapped (/proc/PID/map_files) and where pids are chosen
    // (clone3).
    if (!kernel::hasCapability(CAP_SYS_ADMIN) && !kernel::hasCapability(CAP_CHECKPOINT_RESTORE))
        missing.emplace_back("CAP_SYS_ADMIN (or CAP_CHECKPOINT_RESTORE)");
    if (!kernel::hasCapability(CAP_SYS_PTRACE))
        missing.emplace_back(kernel::capabilityName(CAP_SYS_PTRACE));
    if (missing.empty())
        return;
    Error error(EPERM, fmt::format("criu has no {}, without which it can't {}", fmt::join(missing, " and no "),
                                   command == Restore ? "restore processes" : "dump and restore processes"));
    error.addHint(::geteuid() == 0 ? "root lacks it here: give it to the container, or run criu outside of it"
                                   : "run criu as root");
    throw error;
}

}  // namespace criu::engine
