// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

/// Upper limit of pids in /proc/sys/kernel/pid_max. Since Linux 6.14, each pid namespace has a separate limit, and the
/// file shows the limit of the reader's namespace. Earlier kernels have one limit for all namespaces.
namespace criu::kernel {

class PidLimit {
public:
    /// Selects the limit of this process' pid namespace.
    PidLimit() noexcept = default;
    /// Selects the limit of another pid namespace. The descriptor `pidNamespace` must outlive this object. Accesses the
    /// limit in a child that enters the namespace.
    explicit PidLimit(int pidNamespace) noexcept : place_(Place::Given), given_(pidNamespace) {}
    /// Returns an object for the limit that new pid namespaces get.
    [[nodiscard]] static PidLimit ofNew() noexcept;

    /// Returns the highest pid that the kernel may assign. Throws Error.
    [[nodiscard]] pid_t highest() const;
    /// Returns true if the caller may change the limit. Throws Error.
    [[nodiscard]] bool maySet() const;
    /// Sets the highest pid that the kernel may assign. Returns 0 or the errno: EINVAL if `highest` exceeds the
    /// kernel's maximum.
    int set(pid_t highest) const;

private:
    enum class Place { Own, Given, New };

    [[nodiscard]] pid_t act(pid_t wanted) const;

    Place place_ = Place::Own;
    int given_ = -1;
};

/// Makes the kernel assign `next`, or the lowest free number above it, to the next process or thread of a pid namespace
/// that is created without a chosen pid (/proc/sys/kernel/ns_last_pid). `pidNamespace`: descriptor; -1 for this
/// process' pid namespace. Accesses another namespace in a child that enters it. Needs CAP_CHECKPOINT_RESTORE or
/// CAP_SYS_ADMIN in the user namespace that owns the pid namespace. Throws Error.
void setNextPid(int pidNamespace, pid_t next);

/// Returns the number that the kernel assigns next in this process' pid namespace if it is free. Throws Error.
[[nodiscard]] pid_t nextPid();

}  // namespace criu::kernel
