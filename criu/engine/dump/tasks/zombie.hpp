// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include "criu/base/unique_fd.hpp"

namespace criu::engine {

/// Properties of a Zombie that the kernel checks when a process wants to inspect it.
struct ZombieIdentity {
    UniqueFd pidNamespace;   ///< invalid: the zombie is in criu's pid namespace
    UniqueFd userNamespace;  ///< invalid: the zombie is in criu's user namespace
    /// All user and group ids of the zombie, in criu's user namespace. It has no capabilities.
    uid_t user = 0;
    gid_t group = 0;
    /// Preferred pid in its pid namespace, if that isn't criu's. The kernel assigns another one if the pid is taken or
    /// criu may not choose.
    pid_t wantedNumber = 0;
};

/// A child that has ended and isn't reaped while this object lives, so that other processes of its user may inspect it.
/// Its parent gets no SIGCHLD.
///
/// Before it sets PR_SET_DUMPABLE, the child gives up criu's memory, descriptors, root directory and capabilities.
/// PR_SET_DUMPABLE is needed: since Linux 6.18 the kernel records for a zombie whether it was dumpable (exit_mm()).
class Zombie {
public:
    /// Throws Error if criu may not create such a process.
    explicit Zombie(const ZombieIdentity& identity);
    ~Zombie();
    Zombie(const Zombie&) = delete;
    Zombie& operator=(const Zombie&) = delete;

    /// Returns its pid in its own pid namespace.
    [[nodiscard]] pid_t number() const noexcept { return number_; }

private:
    pid_t pid_;
    pid_t number_ = 0;
};

}  // namespace criu::engine
