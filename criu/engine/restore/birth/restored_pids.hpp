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

/// First processes of a restore.
struct FirstProcesses {
    HostPid root;
    /// Process with whose end the tree's pid namespace ends: the root, or the init that criu created.
    HostPid init;
};

/// All processes that this restore creates. Without release(), the destructor kills and reaps them. It waits while they
/// free memory. It gives up on killed processes that are blocked, for instance by a hung FUSE server or a debugger, and
/// lists them in the log.
class RestoredPids {
public:
    static constexpr std::chrono::milliseconds kPatience{5000};

    /// Calls `createRoot`, which creates the root. `patience`: the destructor gives up on killed processes that have
    /// used no processor time for this time.
    RestoredPids(const RestoreControl& control, TreePidNs space, Log& log,
                 const std::function<FirstProcesses()>& createRoot, std::chrono::milliseconds patience = kPatience);
    ~RestoredPids();
    RestoredPids(const RestoredPids&) = delete;
    RestoredPids& operator=(const RestoredPids&) = delete;

    /// Returns the root of the tree.
    [[nodiscard]] HostPid root() const noexcept { return first_.root; }
    /// Returns the child of criu: the root, or the init that created the root.
    [[nodiscard]] HostPid init() const noexcept { return first_.init; }

    /// Keeps the processes. criu isn't a subreaper any more, so the kernel reparents their orphans to init.
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

    /// Returns the HostPids of all created processes. Don't call it for OfTree, whose processes end with the init.
    [[nodiscard]] std::vector<HostPid> createdHere() const;
    void killAll() noexcept;
    /// Kills all processes once. Returns the processes that haven't ended; for OfTree only the init.
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
