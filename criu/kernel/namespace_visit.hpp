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

/// Scope in which the calling thread is in another namespace. The thread that creates the scope must also destroy it.
class NamespaceVisit {
public:
    /// `target` is a descriptor of the namespace. Throws Error.
    NamespaceVisit(int target, NamespaceKind kind);
    ~NamespaceVisit();
    NamespaceVisit(const NamespaceVisit&) = delete;
    NamespaceVisit& operator=(const NamespaceVisit&) = delete;

    /// Runs `work` in the original namespace, then returns to `target`, even if `work` throws.
    void inOriginalNamespace(const std::function<void()>& work) const;

private:
    int flag_;
    UniqueFd home_;
    UniqueFd target_;
};

/// Runs `work` in a new thread, so that changes of namespace don't affect the caller. Rethrows exceptions of `work`.
void runInThread(const std::function<void()>& work);

/// Opens the user namespace that owns the namespace `space`. Returns an invalid descriptor if it is the caller's user
/// namespace. Throws Error.
[[nodiscard]] UniqueFd foreignOwnerUserns(int space);

/// Timeout for processes that criu creates in other namespaces. Needed because a task of such a namespace could stop
/// the process.
inline constexpr std::chrono::seconds kHelperTimeout{60};

/// Waits until the channel to a child process is readable, or is closed at the other end. After the timeout `patience`,
/// kills the child and returns false.
[[nodiscard]] bool waitForHelper(int channel, pid_t child, std::chrono::milliseconds patience = kHelperTimeout);

/// Runs `work` in a child process that has entered the namespaces `spaces` in this order. Returns the descriptors that
/// `work` has opened. Needs a child for two reasons: a multithreaded process can't enter a user namespace, and only a
/// new child can be in another pid namespace.
///
/// The child keeps only the descriptors `spaces` and `needed`. Tasks in the entered namespaces can't trace the child.
/// Rethrows exceptions of `work` as text. If the child doesn't reply within `patience`, kills it and throws Error,
/// because a privileged task in the namespaces may have stopped it.
[[nodiscard]] std::map<int, UniqueFd> openInNamespaces(std::span<const int> spaces, std::span<const int> needed,
                                                       const std::function<std::map<int, UniqueFd>()>& work,
                                                       std::chrono::milliseconds patience = kHelperTimeout);

/// Opens the namespace of this kind in which the calling thread is.
[[nodiscard]] UniqueFd openOwnNamespace(NamespaceKind kind);

}  // namespace criu::kernel
