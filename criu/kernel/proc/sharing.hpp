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

/// Groups of processes that share a kernel object of one kcmp(2) type. Makes 0.9 n log2 n kcmp calls for n processes,
/// on several threads for many. The kernel has no cheaper way to show that processes share nothing.
class Sharing {
public:
    /// `processes` must be frozen. Throws Error.
    Sharing(std::vector<HostPid> processes, KcmpType type);

    /// Returns two processes that share the object; nullopt if none do.
    [[nodiscard]] std::optional<std::pair<HostPid, HostPid>> anyPair() const;
    /// Returns the same representative for all processes that share the object.
    [[nodiscard]] HostPid firstOf(HostPid process) const;
    /// Returns a process that shares the object with `other`, which isn't in the list and may run; nullopt if none
    /// does. Throws Error: ESRCH or EPERM if the kernel refuses the comparison.
    [[nodiscard]] std::optional<HostPid> partnerOf(HostPid other) const;

private:
    void sort();
    void group();

    KcmpType type_;
    std::vector<HostPid> ordered_;                  ///< in the kernel's order of the objects
    std::unordered_map<HostPid, HostPid> firstOf_;  ///< representative of each sharing process
};

}  // namespace criu::kernel
