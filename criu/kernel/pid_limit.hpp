// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

/// /proc/sys/kernel/pid_max, below which all pids are that the kernel gives. Since Linux 6.14 each pid namespace has
/// its own, and a process reads and writes that of the namespace it is in; before there is one for all.
namespace criu::kernel {

class PidLimit {
public:
    /// Of the pid namespace that this process is in.
    PidLimit() noexcept = default;
    /// Of another, by a descriptor, which outlives this object. A process of this one goes there for a moment.
    explicit PidLimit(int pidNamespace) noexcept : place_(Place::Given), given_(pidNamespace) {}
    /// Of namespaces that are made from here on.
    [[nodiscard]] static PidLimit ofNew() noexcept;

    /// The highest pid that may be given. Throws Error.
    [[nodiscard]] pid_t highest() const;
    /// Whether set() can be expected to work. Throws Error.
    [[nodiscard]] bool maySet() const;
    /// Has this be the highest pid. Returns 0 or the errno: EINVAL if the kernel doesn't know pids as high.
    int set(pid_t highest) const;

private:
    enum class Place { Own, Given, New };

    [[nodiscard]] pid_t act(pid_t wanted) const;

    Place place_ = Place::Own;
    int given_ = -1;
};

}  // namespace criu::kernel
