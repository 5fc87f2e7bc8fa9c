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

/// Scope in which the calling thread is in another namespace. The same thread must destroy it.
class NamespaceVisit {
public:
    /// `target`: descriptor of the namespace. Throws Error.
    NamespaceVisit(int target, NamespaceKind kind);
    ~NamespaceVisit();
    NamespaceVisit(const NamespaceVisit&) = delete;
    NamespaceVisit& operator=(const NamespaceVisit&) = delete;

    /// Runs `work` in the original namespace. Returns to `target` even if `work` throws.
    void inOriginalNamespace(const std::function<void()>& work) const;

private:
    int flag_;
    UniqueFd home_;
    UniqueFd target_;
};

/// Runs `work` in a new thread, whose changes of namespace don't affect the caller. Rethrows exceptions of `work`.
void runInThread(const std::function<void()>& work);

/// Opens the user namespace that owns the namespace; invalid if it is the caller's. Throws Error.
[[nodiscard]] UniqueFd foreignOwnerUserns(int space);

/// Timeout for helper processes, which tasks in the entered namespaces could stop.
inline constexpr std::chrono::seconds kHelperTimeout{60};

/// Waits until a channel to a child process is readable or closed at the other end. After the timeout it kills the
/// child and returns false.
[[nodiscard]] bool waitForHelper(int channel, pid_t child, std::chrono::milliseconds patience = kHelperTimeout);

/// Runs `work` in a child process that has entered the namespaces `spaces` in order, and returns the descriptors it
/// opens.
/// The child is needed because a multithreaded process can't enter a user namespace. Only a second child can be in a
/// pid namespace. It has only the descriptors of `spaces` and `needed`, and tasks in these namespaces can't trace it.
/// Rethrows exceptions of `work` as text. Throws Error and kills the child if it doesn't answer within `patience`: a
/// privileged task there may have stopped it.
[[nodiscard]] std::map<int, UniqueFd> openInNamespaces(std::span<const int> spaces, std::span<const int> needed,
                                                       const std::function<std::map<int, UniqueFd>()>& work,
                                                       std::chrono::milliseconds patience = kHelperTimeout);

/// Opens the namespace of the calling thread.
[[nodiscard]] UniqueFd openOwnNamespace(NamespaceKind kind);

}  // namespace criu::kernel
