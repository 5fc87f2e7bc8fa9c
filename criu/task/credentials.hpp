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

/// Functions for uids, gids, capabilities, secure bits and no_new_privs, which each thread has separately in the
/// kernel.
namespace criu::task {

/// Query of the secure bits of one thread. criu reads all other credentials in /proc/PID/task/TID/status.
class SecureBitsQuery {
public:
    explicit SecureBitsQuery(pie::StepList& steps, pie::RemoteData& data);
    /// Stores the credentials in the image. Throws Error if an id of the thread has no mapping in the tree's user
    /// namespace.
    void store(pie::RemoteData& answers, const kernel::TaskStatus& status, const model::IdMap& ids,
               ThreadCoreEntry& core, Arena& arena) const;

private:
    std::uint64_t at_;
};

/// Query for the thread and process keyrings of one thread (keyrings(7)), which exist only if the thread added a key.
/// criu doesn't dump keyrings, because it often can't read their keys.
class KeyringsQuery {
public:
    KeyringsQuery(pie::StepList& steps, pie::RemoteData& data);
    /// Returns "thread", "process" or "thread and process" for the keyrings that exist; empty if none exists. Called
    /// after the steps have run.
    [[nodiscard]] std::string_view found(pie::RemoteData& answers) const;

private:
    std::uint64_t ofThread_;
    std::uint64_t ofProcess_;
};

/// Credentials of a thread. A restored thread begins with criu's credentials, and criu adds steps only for the
/// differences.
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
    /// Returns the credentials that becomeUsernsRoot() sets for the first process of a new user namespace. `root`
    /// contains the credentials of the tree's root in the image. The result has the groups of `root` if the namespace
    /// denies setgroups(2), because the first process keeps its groups.
    static Credentials ofUsernsRoot(const model::IdMap& ids, const Credentials& root);
    friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Changes the calling process to root of its new user namespace, or to the first mapped user. Drops supplementary
/// groups if setgroups(2) is permitted. Throws Error.
/// criu created the process without a mapped id. Objects that the process creates afterwards belong to a mapped user.
/// The process keeps all capabilities in the namespace.
void becomeUsernsRoot(const model::IdMap& ids);

/// Translates the tree's groups to outer gids. Throws Error if a group has no mapping.
[[nodiscard]] std::vector<std::uint32_t> outerGroups(const std::vector<std::uint32_t>& groups, const model::IdMap& ids);

/// Throws Error if the credentials of a thread differ from `wanted`, which contains ids of the tree's user namespace.
/// Ignores capabilities outside of `known` (kernel::knownCapabilities()). It doesn't check secure bits, which /proc
/// doesn't show; the step that sets them checks its result.
void requireCredentials(const Credentials& wanted, const kernel::TaskStatus& status, const model::IdMap& ids,
                        std::uint64_t known);

/// Adds steps by which the only thread of a process enters the user namespace `fd` (setns(2)) and closes `fd`. Before,
/// the thread gets the uids and gids of `wanted`, which are numbers of its current namespace, because they may have no
/// mapping in the new namespace.
/// Returns the resulting credentials, which include all capabilities in the new namespace.
[[nodiscard]] Credentials enterUserNamespace(const Credentials& now, const Credentials& wanted, int fd,
                                             pie::StepList& steps, pie::RemoteData& data);

/// Adds steps that give the calling thread the credentials of the image. The last steps drop the capabilities that the
/// earlier steps need.
void restoreCredentials(const Credentials& now, const Credentials& wanted, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
