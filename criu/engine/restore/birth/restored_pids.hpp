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

/// The pid namespace of a restored tree.
enum class TreePidNs {
    OfCriu,    ///< criu's own
    OfTree,    ///< new, and ends with its first process, which is the tree's
    OfOthers,  ///< the user has given it
};

/// The first that exist of a restore.
struct FirstProcesses {
    HostPid root;
    /// With which the tree's pid namespace ends: the root itself, unless the namespace has an init of criu's.
    HostPid init;
};

/// Processes that exist because of this restore. The destructor kills and reaps them, unless they were released. To end
/// much memory takes its time, which is waited for. But it doesn't wait for ever for a killed process that something
/// holds, such as a file system's server that doesn't answer or a debugger: the log names those that are left.
class RestoredPids {
public:
    static constexpr std::chrono::milliseconds kPatience{5000};

    /// `createRoot` creates the first of them, in this pid namespace or from there. `patience`: how long killed
    /// processes may do nothing in all before they are left.
    RestoredPids(const RestoreControl& control, TreePidNs space, Log& log,
                 const std::function<FirstProcesses()>& createRoot, std::chrono::milliseconds patience = kPatience);
    ~RestoredPids();
    RestoredPids(const RestoredPids&) = delete;
    RestoredPids& operator=(const RestoredPids&) = delete;

    /// The root of the tree.
    [[nodiscard]] HostPid root() const noexcept { return first_.root; }
    /// Whom criu is the parent of: the root, or the init that has created it.
    [[nodiscard]] HostPid init() const noexcept { return first_.init; }

    /// They are on their own: orphans among them are init's.
    void release() noexcept;

private:
    /// Who loses its parent while all are killed becomes a child of criu, to be reaped by it (PR_SET_CHILD_SUBREAPER).
    class Subreaper {
    public:
        Subreaper() noexcept;
        ~Subreaper();
        Subreaper(const Subreaper&) = delete;
        Subreaper& operator=(const Subreaper&) = delete;
        static void end() noexcept;
    };

    /// What criu calls the processes that were created, unless they end with the first one.
    [[nodiscard]] std::vector<HostPid> createdHere() const;
    void killAll() noexcept;
    /// Returns who hasn't ended yet: of a tree with a pid namespace of its own only its init.
    std::vector<HostPid> killRound();
    /// The same, with all members of such a namespace.
    [[nodiscard]] std::vector<HostPid> allOf(const std::vector<HostPid>& left) const;

    const RestoreControl& control_;
    TreePidNs space_;
    Log& log_;
    bool released_ = false;
    Subreaper subreaper_;
    FirstProcesses first_;
    kernel::PidFd initHandle_;
    std::uint32_t numbers_;  ///< the pid namespace that isn't criu's
    std::chrono::milliseconds patience_;
};

}  // namespace criu::engine
