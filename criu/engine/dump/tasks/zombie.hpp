// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include "criu/base/unique_fd.hpp"

namespace criu::engine {

/// What a Zombie is to look like to others.
struct ZombieIdentity {
    UniqueFd pidNamespace;   ///< none: criu's own
    UniqueFd userNamespace;  ///< none: criu's own
    /// All of its user and group ids, as criu's user namespace calls them. It has no capabilities.
    uid_t user = 0;
    gid_t group = 0;
    /// In its pid namespace, if that isn't criu's. The kernel gives the next free number where this is taken, or where
    /// criu may not choose.
    pid_t wantedNumber = 0;
};

/// A child that has ended, and isn't waited for as long as this object lives: a process that others of its user may ask
/// the kernel about. It leaves no trace with its parent (no SIGCHLD).
///
/// It gives up criu's memory, descriptors, root directory and capabilities before the kernel lets others look into it
/// (PR_SET_DUMPABLE). It can't do without that: the kernel remembers for a zombie whether it was dumpable
/// (exit_mm() since Linux 6.18).
class Zombie {
public:
    /// Throws Error where criu isn't allowed to make such a process.
    explicit Zombie(const ZombieIdentity& identity);
    ~Zombie();
    Zombie(const Zombie&) = delete;
    Zombie& operator=(const Zombie&) = delete;

    /// What its own pid namespace calls it.
    [[nodiscard]] pid_t number() const noexcept { return number_; }

private:
    pid_t pid_;
    pid_t number_ = 0;
};

}  // namespace criu::engine
