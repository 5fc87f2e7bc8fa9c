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

/// Which processes share what one type of kcmp(2) compares. The kernel is asked about 0.9 n log2 n pairs of n
/// processes, by several threads if these are many: there is no other way to know that nobody shares anything.
class Sharing {
public:
    /// `processes` stand still. Throws Error.
    Sharing(std::vector<HostPid> processes, KcmpType type);

    /// Two that share it; nothing if each has its own.
    [[nodiscard]] std::optional<std::pair<HostPid, HostPid>> anyPair() const;
    /// The same process for all that share it: one of them.
    [[nodiscard]] HostPid firstOf(HostPid process) const;
    /// One that shares it with a process which isn't among them, and need not stand still; nothing if there is none.
    /// Throws Error: ESRCH or EPERM if the kernel doesn't compare that one.
    [[nodiscard]] std::optional<HostPid> partnerOf(HostPid other) const;

private:
    void sort();
    void group();

    KcmpType type_;
    std::vector<HostPid> ordered_;                  ///< as the kernel orders what they have
    std::unordered_map<HostPid, HostPid> firstOf_;  ///< of those that share it
};

}  // namespace criu::kernel
