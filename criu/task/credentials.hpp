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

/// User and group ids, capabilities, secure bits, no_new_privs: all per thread in the kernel.
namespace criu::task {

/// Asks one thread for its secure bits; everything else of the credentials is in /proc/PID/task/TID/status.
class SecureBitsQuery {
public:
    explicit SecureBitsQuery(pie::StepList& steps, pie::RemoteData& data);
    /// Throws Error if the thread has an id that has no number in the tree's user namespace.
    void store(pie::RemoteData& answers, const kernel::TaskStatus& status, const model::IdMap& ids,
               ThreadCoreEntry& core, Arena& arena) const;

private:
    std::uint64_t at_;
};

/// Asks one thread for keys of its own: the keyrings of thread and process (keyrings(7)), which are made only when a
/// key is put into them. What is in them often can't be read, so nothing of it is dumped.
class KeyringsQuery {
public:
    KeyringsQuery(pie::StepList& steps, pie::RemoteData& data);
    /// After the run: "thread", "process" or "thread and process", whose keys the thread has; empty if it has none.
    [[nodiscard]] std::string_view found(pie::RemoteData& answers) const;

private:
    std::uint64_t ofThread_;
    std::uint64_t ofProcess_;
};

/// What a restored thread starts from: the credentials of the criu that creates it. Steps are made only for what
/// differs.
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

    /// Those of the calling thread.
    static Credentials ofSelf();
    static Credentials ofImage(const CredsEntry& entry);
    /// What becomeUsernsRoot() makes of the first process of a new user namespace. `root`: the image's of the tree's
    /// root, whose groups the first process is born with if nobody there may change his.
    static Credentials ofUsernsRoot(const model::IdMap& ids, const Credentials& root);
    friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// The calling process, which was born in a new user namespace as nobody of that, with all capabilities there, becomes
/// its user 0 (or whoever comes first), without any further groups, if that can be: so what it makes belongs to
/// somebody of the namespace. It keeps its capabilities. Throws Error.
void becomeUsernsRoot(const model::IdMap& ids);

/// What groups of the tree are in criu's user namespace. Throws Error for one that has no number there.
[[nodiscard]] std::vector<std::uint32_t> outerGroups(const std::vector<std::uint32_t>& groups, const model::IdMap& ids);

/// Throws Error if the kernel says something else of a thread than `wanted`, which has ids of the tree's user
/// namespace. Capabilities that aren't in `known` (kernel::knownCapabilities()) don't count. Secure bits aren't in
/// /proc: the kernel's answer to the step that sets them says that they are as they should be.
void requireCredentials(const Credentials& wanted, const kernel::TaskStatus& status, const model::IdMap& ids,
                        std::uint64_t known);

/// Has the calling thread, the only one of its process, enter the user namespace of a descriptor, which is closed then
/// (setns(2)). Before that it gets its users and groups, which may have no numbers there; `wanted` has those of the
/// namespace that it comes from. Returns what it has then: all capabilities there.
[[nodiscard]] Credentials enterUserNamespace(const Credentials& now, const Credentials& wanted, int fd,
                                             pie::StepList& steps, pie::RemoteData& data);

/// Gives the calling thread the image's credentials, in the order the kernel's rules leave open: what takes away the
/// right to go on comes last.
void restoreCredentials(const Credentials& now, const Credentials& wanted, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
