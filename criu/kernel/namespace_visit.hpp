// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <span>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

namespace criu::kernel {

/// The calling thread is in another namespace while this object lives. To be destroyed by the same thread.
class NamespaceVisit {
public:
    /// `target`: a descriptor of the namespace. Throws Error.
    NamespaceVisit(int target, NamespaceKind kind);
    ~NamespaceVisit();
    NamespaceVisit(const NamespaceVisit&) = delete;
    NamespaceVisit& operator=(const NamespaceVisit&) = delete;

    /// Runs `work` at home, and comes back whatever becomes of it.
    void inOriginalNamespace(const std::function<void()>& work) const;

private:
    int flag_;
    UniqueFd home_;
    UniqueFd target_;
};

/// Runs `work` in a thread of its own, whose namespaces may be changed without any effect on the caller's; what
/// it throws is thrown here.
void runInThread(const std::function<void()>& work);

/// The user namespace that another namespace belongs to, if it isn't that of the caller. Throws Error.
[[nodiscard]] UniqueFd foreignOwnerUserns(int space);

/// How long a process is waited for that others may stop.
inline constexpr std::chrono::seconds kHelperTimeout{60};

/// Waits until something can be read from a channel to a child process, or its other end is shut. Otherwise ends the
/// child and returns false.
[[nodiscard]] bool waitForHelper(int channel, pid_t child, std::chrono::milliseconds patience = kHelperTimeout);

/// Runs `work`, which opens things, in a child process that has entered these namespaces, in this order; into a user
/// namespace nobody with threads can go, and into a pid namespace only a further child can. It has no descriptors but
/// those of `spaces` and `needed`, and can't be traced by who is in these namespaces. Returns what it has opened; what
/// it throws is thrown here, as text.
/// Who has rights there may stop it: if it says nothing for as long as `patience`, it is ended, and Error thrown.
[[nodiscard]] std::map<int, UniqueFd> openInNamespaces(std::span<const int> spaces, std::span<const int> needed,
                                                       const std::function<std::map<int, UniqueFd>()>& work,
                                                       std::chrono::milliseconds patience = kHelperTimeout);

/// The namespace of the calling thread.
[[nodiscard]] UniqueFd openOwnNamespace(NamespaceKind kind);

/// Whether a socket, or a descriptor of a tun device, is of another network namespace than the calling thread. No, too,
/// where the kernel doesn't report it.
[[nodiscard]] bool isOfOtherNetwork(int fd);

}  // namespace criu::kernel
