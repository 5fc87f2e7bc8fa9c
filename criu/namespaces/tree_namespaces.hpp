// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/namespaces/clocks.hpp"
#include "criu/namespaces/ipc.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/uts.hpp"
#include "images/core.hpp"

namespace criu::namespaces {

/// The UTS, IPC and time namespaces that restored processes are in: new ones, filled from the images, joined ones, or
/// those of criu. The time namespace is always a new one or joined, where the kernel can make one: clocks go on.
class TreeNamespaces {
public:
    /// `outside` and `tree`: numbers of criu's and the tree's namespaces, may be null. Reads and checks the images;
    /// throws Error. `joined` and `ids`, users and groups of the tree, outlive this object.
    TreeNamespaces(const JoinedNamespaces& joined, const ImageDir& images, const TaskKobjIdsEntry* outside,
                   const TaskKobjIdsEntry* tree, const model::IdMap& ids, Log& log);

    /// CLONE_NEW… of those that the first process of the tree is to be born in.
    [[nodiscard]] int newKinds() const noexcept;

    /// Fills those, which the first process, a /proc/PID, was born in.
    void fill(const kernel::ProcPid& root, const ImageDir& images);

    /// The calling process of the tree, which had this pid, gets what such a namespace keeps for a process.
    void giveToProcess(pid_t pid) const {
        if (ipc_)
            ipc_->takeAdjustments(pid);
    }

    /// All processes have their memory.
    void finish(const kernel::ProcPid& root) const;

    /// Whether the tree uses the IPC objects of criu's namespace.
    [[nodiscard]] bool sharesIpc() const noexcept { return !ipc_ && !joined_.has(kernel::NamespaceKind::Ipc); }

    /// The calling process, the first of the tree and with one thread, goes to joined ones, and to the time namespace,
    /// which nobody can be born in.
    void enter() const;

private:
    const JoinedNamespaces& joined_;
    Log& log_;
    std::optional<UtsRestore> uts_;
    std::optional<IpcRestore> ipc_;
    std::optional<ClocksRestore> clocks_;
};

}  // namespace criu::namespaces
