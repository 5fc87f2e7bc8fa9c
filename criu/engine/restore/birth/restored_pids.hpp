// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/kernel/proc/pidfd.hpp"

namespace criu::engine {

/// Pid namespace of a restored tree.
enum class TreePidNs {
    OfCriu,    ///< criu's pid namespace
    OfTree,    ///< new pid namespace, which ends with the root, or with the init that criu created
    OfOthers,  ///< external pid namespace, which the user passed by --inherit-fd
};

/// Processes that a restore creates first: the root, and the init of the tree's pid namespace.
struct FirstProcesses {
    HostPid root;
    /// Process whose end also ends the tree's pid namespace: the root, or the init that criu created.
    HostPid init;
};

/// All processes that this restore creates. Without release(), the destructor kills and reaps them, and waits while
/// they free memory. Some killed processes may be blocked, for instance by a hung FUSE server or a debugger. The
/// destructor gives up on these and lists them in the log.
class RestoredPids {
public:
    static constexpr std::chrono::milliseconds kPatience{5000};

    /// Calls `createRoot`, which creates the root. `patience`: time without use of the processor after which the
    /// destructor gives up on killed processes.
    RestoredPids(const RestoreControl& control, TreePidNs space, Log& log,
                 const std::function<FirstProcesses()>& createRoot, std::chrono::milliseconds patience = kPatience);
    ~RestoredPids();
    RestoredPids(const RestoredPids&) = delete;
    RestoredPids& operator=(const RestoredPids&) = delete;

    /// Returns the root of the tree.
    [[nodiscard]] HostPid root() const noexcept { return first_.root; }
    /// Returns the child that criu itself has created: the root, or the init that created the root.
    [[nodiscard]] HostPid init() const noexcept { return first_.init; }

    /// Keeps the processes. Afterwards criu isn't a subreaper any more, so that the kernel reparents orphans of the
    /// tree to init.
    void release() noexcept;

private:
    /// Makes criu a subreaper (PR_SET_CHILD_SUBREAPER), so that it can reap processes whose parents are killed first.
    class Subreaper {
    public:
        Subreaper() noexcept;
        ~Subreaper();
        Subreaper(const Subreaper&) = delete;
        Subreaper& operator=(const Subreaper&) = delete;
        static void end() noexcept;
    };

    /// Returns the HostPids of all created processes. Don't call it for OfTree: the kernel kills processes of such a
    /// namespace together with its init.
    [[nodiscard]] std::vector<HostPid> createdHere() const;
    void killAll() noexcept;
    /// Sends SIGKILL to all processes; for OfTree, only to the init. Returns the processes that haven't ended.
    std::vector<HostPid> killRound();
    /// Returns `left`; for OfTree returns all processes of the pid namespace.
    [[nodiscard]] std::vector<HostPid> allOf(const std::vector<HostPid>& left) const;

    const RestoreControl& control_;
    TreePidNs space_;
    Log& log_;
    bool released_ = false;
    Subreaper subreaper_;
    FirstProcesses first_;
    kernel::PidFd initHandle_;
    std::uint32_t numbers_;  ///< id of the tree's pid namespace; 0 if that is criu's
    std::chrono::milliseconds patience_;
};

}  // namespace criu::engine
