// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/lacking_rights.hpp"

#include <linux/capability.h>
#include <sys/resource.h>

#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/restore/scoped_rlimits.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/task/credentials.hpp"

namespace criu::engine {
namespace {

bool has(const task::Credentials& own, unsigned capability) {
    return (own.permitted >> capability & 1U) != 0;
}

bool isOtherUser(const kernel::CredentialIds& ids, const kernel::CredentialIds& own) {
    return !(ids == own);
}

/// Returns a credential of the thread that a process with the credentials `own` can't set for itself, as text for a
/// message. Returns nothing if such a process can set all credentials of the thread.
std::optional<std::string> lackingFor(const kernel::TaskStatus& thread, const task::Credentials& own) {
    const std::uint64_t sets =
        thread.capPermitted | thread.capInheritable | thread.capAmbient | (thread.capBounding & ~own.bounding);
    if (const std::uint64_t lacking = sets & ~own.permitted & kernel::knownCapabilities(); lacking != 0) {
        unsigned first = 0;
        while ((lacking >> first & 1U) == 0)
            ++first;
        return fmt::format("has {}", kernel::capabilityName(first));
    }
    if (isOtherUser(thread.uid, own.uid) && !has(own, CAP_SETUID))
        return fmt::format("is of user {}, to which only a process with CAP_SETUID can change", thread.uid.real);
    if ((isOtherUser(thread.gid, own.gid) || thread.groups != own.groups) && !has(own, CAP_SETGID))
        return fmt::format("is of group {}, to which only a process with CAP_SETGID can change", thread.gid.real);
    if (own.noNewPrivileges && !thread.noNewPrivs.value_or(true))
        return "has no no_new_privs, which criu can't take off again";
    return std::nullopt;
}

std::optional<std::string> lackingLimit(const kernel::ResourceLimits& limits, const kernel::ResourceLimits& own,
                                        bool mayRaise, rlim_t mostFiles) {
    if (limits[RLIMIT_NOFILE].rlim_max > mostFiles)
        return fmt::format("has a hard limit of {} open files, more than the sysctl fs.nr_open ({}) allows now",
                           limits[RLIMIT_NOFILE].rlim_max, mostFiles);
    for (std::size_t i = 0; !mayRaise && i < limits.size(); ++i)
        if (limits[i].rlim_max > own[i].rlim_max)
            return fmt::format(
                "has a hard limit (number {}) of {}, and criu one of {}, which CAP_SYS_RESOURCE is "
                "needed to raise",
                i, limits[i].rlim_max, own[i].rlim_max);
    return std::nullopt;
}

std::optional<std::string> lackingForAny(const FrozenTask& task, const task::Credentials& own,
                                         kernel::ProcBuffer& buffer) {
    if (!task.leaderEnded())
        if (auto lacking = lackingFor(task.status, own))
            return lacking;
    for (const compel::FrozenThread& thread : task.process->threads())
        if (HostPid(thread.tracee.tid()) != task.pid())
            if (auto lacking = lackingFor(kernel::readThreadStatus(task.dir, thread.tracee.tid(), buffer), own))
                return lacking;
    return std::nullopt;
}

}  // namespace

void warnOfLackingRights(FrozenTree& tree, Log& log) {
    const task::Credentials own = task::Credentials::ofSelf();
    const kernel::ProcDir proc;
    const auto ownUsers = kernel::readNamespaceId(proc.self(), kernel::NamespaceKind::User);
    const auto mostFiles = static_cast<rlim_t>(std::stoull(proc.readFile("sys/fs/nr_open")));
    const kernel::ResourceLimits limits = currentRlimits();
    const bool hasAll = (kernel::knownCapabilities() & ~(own.permitted & own.bounding)) == 0 && !own.noNewPrivileges;
    kernel::ProcBuffer buffer;
    for (const auto& task : tree.tasks()) {
        if (!task->alive() || task->namespaceOf(kernel::NamespaceKind::User) != ownUsers)
            continue;
        auto lacking = hasAll ? std::nullopt : lackingForAny(*task, own, buffer);
        if (!lacking)
            lacking = lackingLimit(task->limits(buffer), limits, has(own, CAP_SYS_RESOURCE), mostFiles);
        if (lacking)
            log.warn("{} {}: a restore with the rights of this criu would fail", task->describe(), *lacking);
    }
}

}  // namespace criu::engine
