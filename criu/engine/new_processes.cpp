// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/new_processes.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <unordered_map>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/engine/pid_map.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/stat.hpp"
#include "criu/kernel/status.hpp"

namespace criu::engine {
namespace {

/// Nothing if nobody has the number.
std::optional<kernel::TaskStat> holderOf(HostPid pid) {
    try {
        kernel::ProcBuffer buffer;
        return kernel::readStat(kernel::ProcDir().open(pid.value), buffer);
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// One that has ended may be somebody else's to reap (--restore-sibling).
bool hasEnded(const kernel::TaskStat& task) noexcept {
    return task.state == kernel::TaskState::Zombie || task.state == kernel::TaskState::Dead;
}

/// Which of some numbers are processes of this restore: its root, and whoever descends from criu or from the root.
/// Other numbers belonged to processes that have been reaped, and may be strangers' by now.
class OwnProcesses {
public:
    OwnProcesses(const std::vector<HostPid>& numbers, HostPid root) : root_(root) {
        for (const HostPid pid : numbers)
            if (const auto holder = holderOf(pid))
                parents_.emplace(pid, HostPid(holder->ppid));
    }

    /// Returns whether somebody is left who hasn't ended.
    [[nodiscard]] bool killAll() const {
        bool left = false;
        for (const auto& [pid, parent] : parents_)
            left = (has(parent) && kill(pid)) || left;
        return left;
    }

private:
    [[nodiscard]] bool has(HostPid pid) const {
        const HostPid self(::getpid());
        for (std::size_t steps = 0; steps <= parents_.size(); ++steps) {
            if (pid == self || pid == root_)
                return true;
            const auto found = parents_.find(pid);
            if (found == parents_.end())
                return false;
            pid = found->second;
        }
        return false;
    }

    /// What is read behind the descriptor is of the process that it stands for, or the signal goes nowhere.
    [[nodiscard]] bool kill(HostPid pid) const {
        try {
            const kernel::PidFd process(pid.value);
            const auto holder = holderOf(pid);
            return holder && has(HostPid(holder->ppid)) && process.sendSignal(SIGKILL) && !hasEnded(*holder);
        } catch (const Error&) {
            return false;  // it is gone
        }
    }

    HostPid root_;
    std::unordered_map<HostPid, HostPid> parents_;
};

/// Of a process that must not stay if this fails.
kernel::PidFd handleOf(HostPid pid) {
    try {
        return kernel::PidFd(pid.value);
    } catch (const Error&) {
        ::kill(pid.value, SIGKILL);
        throw;
    }
}

/// The pid namespace of a process that must not stay if this fails.
std::uint32_t spaceOf(HostPid pid) {
    try {
        return kernel::readNamespaceId(kernel::ProcDir().open(pid.value), kernel::NamespaceKind::Pid).value_or(0);
    } catch (const Error&) {
        ::kill(pid.value, SIGKILL);
        throw;
    }
}

/// Who has these numbers in another pid namespace than criu's, as criu calls them.
std::vector<HostPid> membersOf(std::uint32_t space, const std::vector<TreePid>& numbers) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    std::vector<HostPid> found;
    for (const pid_t pid : proc.processes()) {
        try {
            const kernel::ProcPid process = proc.open(pid);
            if (kernel::readNamespaceId(process, kernel::NamespaceKind::Pid) != space)
                continue;
            const TreePid inside(kernel::readStatus(process, buffer).innermostPid());
            if (std::find(numbers.begin(), numbers.end(), inside) != numbers.end())
                found.emplace_back(pid);
        } catch (const Error&) {
            // It has ended.
        }
    }
    return found;
}

}  // namespace

NewProcesses::Subreaper::Subreaper() noexcept {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

NewProcesses::Subreaper::~Subreaper() {
    end();
}

void NewProcesses::Subreaper::end() noexcept {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

NewProcesses::NewProcesses(const RestoreControl& control, PidSpace space, Log& log,
                           const std::function<HostPid()>& createRoot)
    : control_(control),
      space_(space),
      log_(log),
      root_(createRoot()),
      rootHandle_(handleOf(root_)),
      numbers_(space == PidSpace::OfOthers ? spaceOf(root_) : 0) {}

NewProcesses::~NewProcesses() {
    if (!released_)
        killAll();
}

void NewProcesses::release() noexcept {
    released_ = true;
    Subreaper::end();
}

std::vector<HostPid> NewProcesses::createdHere() const {
    const std::vector<TreePid> created = control_.created();
    if (space_ == PidSpace::OfOthers)
        return membersOf(numbers_, created);
    const PidMap sameNamespace;
    std::vector<HostPid> pids;
    for (const TreePid pid : created)
        pids.push_back(sameNamespace.outside(pid));
    return pids;
}

bool NewProcesses::killRound() {
    const bool rootLives = !rootHandle_.waitExit() && rootHandle_.sendSignal(SIGKILL);
    // The end of the root of a pid namespace is the end of all in it.
    const bool othersLive =
        space_ != PidSpace::OfTree && OwnProcesses(createdHere(), rootLives ? root_ : HostPid()).killAll();
    return rootLives || othersLive;
}

void NewProcesses::killAll() noexcept {
    // Creating goes on while we look: repeat until a pass finds nobody new and nobody left.
    // The end of a whole pid namespace takes as long as its memory takes to free.
    constexpr int kRounds = 2000;
    constexpr int kRoundsOfNamespace = 600'000;
    for (int round = 0; round < (space_ == PidSpace::OfTree ? kRoundsOfNamespace : kRounds); ++round) {
        bool left = false;
        try {
            left = killRound();
        } catch (const std::exception&) {
            left = true;  // no memory or descriptors: in the next round perhaps
        }
        while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0)
            left = true;
        if (!left)
            return;
        ::usleep(1000);
    }
    log_.warn("not all processes of the failed restore could be ended");
}

}  // namespace criu::engine
