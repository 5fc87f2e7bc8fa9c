// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

#include "criu/image/arena.hpp"
#include "criu/kernel/status.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.hpp"

/// User and group ids, capabilities, secure bits, no_new_privs: all per thread in the kernel.
namespace criu::task {

/// Asks one thread for its secure bits; everything else of the credentials is in /proc/PID/task/TID/status.
class SecureBitsQuery {
public:
    explicit SecureBitsQuery(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers, const kernel::TaskStatus& status, ThreadCoreEntry& core, Arena& arena) const;

private:
    std::uint64_t at_;
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
    friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Gives the calling thread the image's credentials, in the order the kernel's rules leave open: what takes away the
/// right to go on comes last.
void restoreCredentials(const Credentials& now, const Credentials& wanted, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
