// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "criu/image/arena.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/creds.fwd.hpp"

namespace criu::model {
class IdMap;
}

/// Uids, gids, capabilities, secure bits and no_new_privs. The kernel has them for each thread.
namespace criu::task {

/// Queries one thread for its secure bits. /proc/PID/task/TID/status shows all other credentials.
class SecureBitsQuery {
public:
    explicit SecureBitsQuery(pie::StepList& steps, pie::RemoteData& data);
    /// Throws Error if an id of the thread has no mapping in the tree's user namespace.
    void store(pie::RemoteData& answers, const kernel::TaskStatus& status, const model::IdMap& ids,
               ThreadCoreEntry& core, Arena& arena) const;

private:
    std::uint64_t at_;
};

/// Queries one thread for its thread and process keyrings (keyrings(7)), which exist only if a key was added. Keys
/// often can't be read, so keyrings aren't dumped.
class KeyringsQuery {
public:
    KeyringsQuery(pie::StepList& steps, pie::RemoteData& data);
    /// Called after the run: returns "thread", "process" or "thread and process" for the existing keyrings; empty if
    /// there are none.
    [[nodiscard]] std::string_view found(pie::RemoteData& answers) const;

private:
    std::uint64_t ofThread_;
    std::uint64_t ofProcess_;
};

/// Credentials of a thread. A restored thread begins with those of criu, and steps are added only for differences.
struct Credentials {
    std::vector<std::uint32_t> groups;
    kernel::CredentialIds uid;
    kernel::CredentialIds gid;
    std::uint64_t inheritable = 0;
    std::uint64_t permitted = 0;
    std::uint64_t effective = 0;
    std::uint64_t bounding = 0;
    std::uint64_t ambient = 0;
    std::uint32_t secureBits = 0;
    bool noNewPrivileges = false;

    /// Reads the credentials of the calling thread.
    static Credentials ofSelf();
    static Credentials ofImage(const CredsEntry& entry);
    /// Returns the result of becomeUsernsRoot() for the first process of a new user namespace. `root`: credentials of
    /// the tree's root in the image. The first process is created with these groups if setgroups(2) is denied there.
    static Credentials ofUsernsRoot(const model::IdMap& ids, const Credentials& root);
    friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Becomes root of a new user namespace, or its first mapped user, without supplementary groups if setgroups(2) is
/// permitted. The process was created without a mapped id and with all capabilities there, which it keeps. Objects that
/// it creates then belong to a mapped user. Throws Error.
void becomeUsernsRoot(const model::IdMap& ids);

/// Translates groups of the tree to outer gids. Throws Error for a group without a mapping.
[[nodiscard]] std::vector<std::uint32_t> outerGroups(const std::vector<std::uint32_t>& groups, const model::IdMap& ids);

/// Throws Error if a thread's credentials differ from `wanted`, which has ids of the tree's user namespace. Ignores
/// capabilities outside of `known` (kernel::knownCapabilities()). /proc doesn't show secure bits; the step that sets
/// them checks its result.
void requireCredentials(const Credentials& wanted, const kernel::TaskStatus& status, const model::IdMap& ids,
                        std::uint64_t known);

/// Adds steps by which the only thread of a process enters the user namespace `fd` (setns(2)) and closes `fd`. The
/// thread first gets its uids and gids, which may have no mapping there; `wanted` has those of its present namespace.
/// Returns the resulting credentials: all capabilities there.
[[nodiscard]] Credentials enterUserNamespace(const Credentials& now, const Credentials& wanted, int fd,
                                             pie::StepList& steps, pie::RemoteData& data);

/// Adds steps that give the calling thread the image's credentials. Steps that take away capabilities for later steps
/// come last.
void restoreCredentials(const Credentials& now, const Credentials& wanted, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
