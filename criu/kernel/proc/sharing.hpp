// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/kernel/proc/kcmp.hpp"

namespace criu::kernel {

/// Groups of processes that share a kernel object of one kcmp(2) type. For n processes, the constructor makes 0.9 n
/// log2 n kcmp calls, and distributes many calls to several threads. The kernel offers no cheaper way to show that
/// processes share nothing.
class Sharing {
public:
    /// Compares the processes, which must be frozen. Throws Error.
    Sharing(std::vector<HostPid> processes, KcmpType type);

    /// Returns two processes that share the object; nullopt if each process has its own object.
    [[nodiscard]] std::optional<std::pair<HostPid, HostPid>> anyPair() const;
    /// Returns the representative of the processes that share the object with `process`. For all of these, the
    /// representative is the same.
    [[nodiscard]] HostPid firstOf(HostPid process) const;
    /// Returns a process of the list that shares the object with `other`; nullopt if there is none. `other` isn't in
    /// the list and may run. Throws Error: ESRCH or EPERM if the kernel refuses the comparison.
    [[nodiscard]] std::optional<HostPid> partnerOf(HostPid other) const;

private:
    void sort();
    void group();

    KcmpType type_;
    std::vector<HostPid> ordered_;                  ///< processes in the kernel's order of their objects (kcmp(2))
    std::unordered_map<HostPid, HostPid> firstOf_;  ///< representative of each process that shares its object
};

}  // namespace criu::kernel
