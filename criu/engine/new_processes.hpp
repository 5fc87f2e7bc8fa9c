// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/restore_control.hpp"
#include "criu/kernel/pidfd.hpp"

namespace criu::engine {

/// Processes that exist because of this restore. The destructor kills and reaps them, unless they were released.
class NewProcesses {
public:
    /// `createRoot` creates the first of them. `ownPids`: the tree is in a new pid namespace, which ends with that.
    NewProcesses(const RestoreControl& control, bool ownPids, Log& log, const std::function<HostPid()>& createRoot);
    ~NewProcesses();
    NewProcesses(const NewProcesses&) = delete;
    NewProcesses& operator=(const NewProcesses&) = delete;

    /// The first process.
    [[nodiscard]] HostPid root() const noexcept { return root_; }

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

    /// What criu calls processes of a tree in its own pid namespace.
    [[nodiscard]] std::vector<HostPid> createdHere() const;
    void killAll() noexcept;
    /// Returns whether somebody is left.
    bool killRound();

    const RestoreControl& control_;
    bool ownPids_;
    Log& log_;
    bool released_ = false;
    Subreaper subreaper_;
    HostPid root_;
    kernel::PidFd rootHandle_;
};

}  // namespace criu::engine
