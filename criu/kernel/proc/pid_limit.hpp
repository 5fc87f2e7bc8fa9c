// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

/// Upper limit of pids, /proc/sys/kernel/pid_max. Since Linux 6.14 each pid namespace has a separate limit, and a
/// process accesses that of its namespace. Earlier kernels have one for all.
namespace criu::kernel {

class PidLimit {
public:
    /// Limit of this process' pid namespace.
    PidLimit() noexcept = default;
    /// Limit of another pid namespace. The descriptor must outlive this object. Accesses run in a child that enters
    /// the namespace.
    explicit PidLimit(int pidNamespace) noexcept : place_(Place::Given), given_(pidNamespace) {}
    /// Returns the limit of new pid namespaces.
    [[nodiscard]] static PidLimit ofNew() noexcept;

    /// Returns the highest pid that the kernel may assign. Throws Error.
    [[nodiscard]] pid_t highest() const;
    /// Returns true if the caller may set the limit. Throws Error.
    [[nodiscard]] bool maySet() const;
    /// Sets the highest pid. Returns 0 or the errno: EINVAL if it exceeds the kernel's maximum.
    int set(pid_t highest) const;

private:
    enum class Place { Own, Given, New };

    [[nodiscard]] pid_t act(pid_t wanted) const;

    Place place_ = Place::Own;
    int given_ = -1;
};

}  // namespace criu::kernel
