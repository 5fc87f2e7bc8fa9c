// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/cgroup/freezer.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/stat.hpp"
#include "criu/kernel/status.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {

/// A process of the tree that is dumped.
struct FrozenTask {
    explicit FrozenTask(kernel::ProcPid directory) : dir(std::move(directory)) {}

    kernel::ProcPid dir;
    kernel::TaskStat stat;
    kernel::TaskStatus status;
    std::optional<compel::FrozenProcess> process;  ///< none for a zombie
    model::TaskState state = model::TaskState::Alive;
    int stopSignal = 0;     ///< of a stopped process
    bool compat = false;    ///< a 32-bit process, see task::isCompat()
    bool hasRings = false;  ///< has descriptors of io_uring

    [[nodiscard]] pid_t pid() const noexcept { return stat.pid; }
    [[nodiscard]] bool alive() const noexcept { return process.has_value(); }
};

/// A process tree whose every thread stands still. Unless it is killed, destruction lets all go on as they were.
class FrozenTree {
public:
    /// Stops `root` and all its descendants; throws Error, with everybody running again, when that takes longer than
    /// `timeout` (0: no limit). `freezer`: null, or the cgroup that has been frozen for it, and is thawed here.
    /// `before` is called for each process that is going to be stopped.
    static FrozenTree freeze(pid_t root, std::chrono::seconds timeout, cgroup::Freezer* freezer, StopRequest& stop,
                             Log& log, const std::function<void(pid_t)>& before);

    /// Parents before children.
    [[nodiscard]] std::vector<std::unique_ptr<FrozenTask>>& tasks() noexcept { return tasks_; }

    /// Seccomp lets system calls pass that criu makes in the processes. It doesn't when criu lacks CAP_SYS_ADMIN or
    /// runs under seccomp itself; then threads under seccomp must be left alone.
    [[nodiscard]] bool seccompSuspended() const noexcept { return options_.seize.suspendSeccomp; }

    /// Ends all processes; with `butRoot` the root stays frozen, and its children may stay as zombies.
    void kill(bool butRoot);
    /// Lets all go on; with `stopped` they are sent SIGSTOP first.
    void letGo(bool stopped);

private:
    bool addChildren(FrozenTask& parent);
    void add(pid_t pid);
    void addAll();
    compel::FrozenProcess seize(pid_t pid) const;
    compel::FrozenProcess seizeAsAllowed(pid_t pid);
    void stop(FrozenTask& task);

    kernel::ProcDir proc_;
    kernel::ProcBuffer buffer_;
    compel::FreezeOptions options_;
    StopRequest* stop_ = nullptr;
    const std::function<void(pid_t)>* before_ = nullptr;  ///< while freezing
    bool onlySeizing_ = false;                            ///< nobody can run, so nobody can be waited for
    std::vector<std::unique_ptr<FrozenTask>> tasks_;
    std::unordered_set<pid_t> known_;  ///< of them
};

}  // namespace criu::engine
