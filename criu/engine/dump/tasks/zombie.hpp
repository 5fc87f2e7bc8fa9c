// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include "criu/base/unique_fd.hpp"

namespace criu::engine {

/// Properties of a Zombie that the kernel checks when a process wants to inspect the zombie.
struct ZombieIdentity {
    UniqueFd pidNamespace;   ///< pid namespace; if invalid, criu's pid namespace
    UniqueFd userNamespace;  ///< user namespace; if invalid, criu's user namespace
    /// `user` is the value of all user ids of the zombie, and `group` of all group ids, in criu's user namespace.
    uid_t user = 0;
    gid_t group = 0;
    /// Preferred pid in `pidNamespace`. If the pid is taken, or criu may not choose pids, the kernel assigns another
    /// one. Unused in criu's pid namespace.
    pid_t wantedNumber = 0;
};

/// Child that has ended and that criu doesn't reap while this object lives, so that other processes of its user may
/// inspect it. Its parent gets no SIGCHLD.
///
/// The child first gives up criu's memory, descriptors, root directory and capabilities, and only then sets
/// PR_SET_DUMPABLE. It needs PR_SET_DUMPABLE: since Linux 6.18, the kernel records for a zombie whether it was dumpable
/// (exit_mm()).
class Zombie {
public:
    /// Throws Error if criu may not create a process with these properties.
    explicit Zombie(const ZombieIdentity& identity);
    ~Zombie();
    Zombie(const Zombie&) = delete;
    Zombie& operator=(const Zombie&) = delete;

    /// Returns the zombie's pid in its own pid namespace.
    [[nodiscard]] pid_t number() const noexcept { return number_; }

private:
    pid_t pid_;
    pid_t number_ = 0;
};

}  // namespace criu::engine
