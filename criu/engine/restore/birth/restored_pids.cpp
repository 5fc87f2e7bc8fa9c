// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/birth/restored_pids.hpp"

#include <fmt/ranges.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/model/pid_map.hpp"

namespace criu::engine {
namespace {

/// Returns the stat of the process with this pid; nothing if no process has the pid.
std::optional<kernel::TaskStat> holderOf(HostPid pid) {
    try {
        kernel::ProcBuffer buffer;
        return kernel::readStat(kernel::ProcDir().open(pid.value), buffer);
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Returns true for a zombie. criu perhaps can't reap it, because it is a child of another process (--restore-sibling).
bool hasEnded(const kernel::TaskStat& task) noexcept {
    return task.state == kernel::TaskState::Zombie || task.state == kernel::TaskState::Dead;
}

/// Filter for lists of pids. It selects the processes of this restore: the root, and descendants of criu or of the
/// root. Other pids in a list belonged to processes that have been reaped, and the kernel may have reused these pids.
class RestoreDescendants {
public:
    RestoreDescendants(const std::vector<HostPid>& numbers, HostPid root) : root_(root) {
        for (const HostPid pid : numbers)
            if (const auto holder = holderOf(pid))
                parents_.emplace(pid, HostPid(holder->ppid));
    }

    /// Kills all processes. Returns the processes that are still ending.
    [[nodiscard]] std::vector<HostPid> killAll() const {
        std::vector<HostPid> left;
        for (const auto& [pid, parent] : parents_)
            if (has(parent) && kill(pid))
                left.push_back(pid);
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

    /// Kills the process if it belongs to this restore. Returns true if it hasn't ended yet. Opens a pidfd before it
    /// reads /proc, so that it can't kill a process that reuses the pid. If the pid is reused before the pidfd is
    /// opened, /proc shows the other process. If it is reused later, the pidfd refers to the ended process.
    [[nodiscard]] bool kill(HostPid pid) const {
        try {
            const kernel::PidFd process(pid.value);
            const auto holder = holderOf(pid);
            return holder && has(HostPid(holder->ppid)) && process.sendSignal(SIGKILL) && !hasEnded(*holder);
        } catch (const Error&) {
            return false;  // the process has ended
        }
    }

    HostPid root_;
    std::unordered_map<HostPid, HostPid> parents_;
};

/// Opens a pidfd of a new process. After a failure, kills the process, because without a pidfd no destructor would kill
/// it.
kernel::PidFd handleOf(HostPid pid) {
    try {
        return kernel::PidFd(pid.value);
    } catch (const Error&) {
        ::kill(pid.value, SIGKILL);
        throw;
    }
}

/// Returns the id of a process' pid namespace. After a failure, kills the process.
std::uint32_t spaceOf(HostPid pid) {
    try {
        return kernel::readNamespaceId(kernel::ProcDir().open(pid.value), kernel::NamespaceKind::Pid).value_or(0);
    } catch (const Error&) {
        ::kill(pid.value, SIGKILL);
        throw;
    }
}

/// Returns the processes of a pid namespace that isn't criu's. `space`: id of the namespace. `numbers`: pids in this
/// namespace that select the processes; null for all processes.
std::vector<HostPid> membersOf(std::uint32_t space, const std::vector<TreePid>* numbers) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    std::vector<HostPid> found;
    for (const pid_t pid : proc.processes()) {
        try {
            const kernel::ProcPid process = proc.open(pid);
            if (kernel::readNamespaceId(process, kernel::NamespaceKind::Pid) != space)
                continue;
            const auto isWanted = [&] {
                const TreePid inside(kernel::readStatus(process, buffer).innermostPid());
                return std::find(numbers->begin(), numbers->end(), inside) != numbers->end();
            };
            if (numbers == nullptr || isWanted())
                found.emplace_back(pid);
        } catch (const Error&) {
            // The process has ended.
        }
    }
    return found;
}

/// Decides how long criu waits for the end of killed processes. Gives up on processes that use no processor time: these
/// are blocked, while a process that frees memory uses processor time.
class KilledProcessWait {
public:
    explicit KilledProcessWait(std::chrono::milliseconds patience) : patience_(patience) {}

    /// Returns true if the processes have used no processor time for `patience_`. `living`: returns the processes.
    /// Calls `living` at most every 200 ms, because it reads all of /proc.
    [[nodiscard]] bool isOver(const std::function<std::vector<HostPid>()>& living) {
        constexpr std::chrono::milliseconds kBetweenLooks{200};
        const auto now = Clock::now();
        const auto passed = now - last_;
        if (passed < kBetweenLooks)
            return false;
        last_ = now;
        std::uint64_t sum = 0;
        for (const HostPid pid : living())
            if (const auto holder = holderOf(pid))
                sum += holder->cpuTime;
        if (sum == seen_)
            idle_ += passed;
        seen_ = sum;
        return idle_ >= patience_;
    }

private:
    using Clock = std::chrono::steady_clock;
    std::chrono::milliseconds patience_;
    Clock::time_point last_ = Clock::now();
    Clock::duration idle_{0};
    std::uint64_t seen_ = 0;
};

/// Returns a text such as "7 (sh), 9 (cat)".
std::string describeAll(const std::vector<HostPid>& pids) {
    constexpr std::size_t kMost = 20;
    std::vector<std::string> names;
    for (const HostPid pid : pids)
        if (const auto holder = holderOf(pid); holder && names.size() < kMost)
            names.push_back(fmt::format("{} ({})", pid, holder->comm));
    if (pids.size() > kMost)
        names.push_back(fmt::format("and {} more", pids.size() - kMost));
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

RestoredPids::Subreaper::Subreaper() noexcept {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

RestoredPids::Subreaper::~Subreaper() {
    end();
}

void RestoredPids::Subreaper::end() noexcept {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

RestoredPids::RestoredPids(const RestoreControl& control, TreePidNs space, Log& log,
                           const std::function<FirstProcesses()>& createRoot, std::chrono::milliseconds patience)
    : control_(control),
      space_(space),
      log_(log),
      first_(createRoot()),
      initHandle_(handleOf(first_.init)),
      numbers_(space == TreePidNs::OfCriu ? 0 : spaceOf(first_.init)),
      patience_(patience) {}

RestoredPids::~RestoredPids() {
    if (!released_)
        killAll();
}

void RestoredPids::release() noexcept {
    released_ = true;
    Subreaper::end();
}

std::vector<HostPid> RestoredPids::createdHere() const {
    const std::vector<TreePid> created = control_.created();
    if (space_ == TreePidNs::OfOthers)
        return membersOf(numbers_, &created);
    const PidMap sameNamespace;
    std::vector<HostPid> pids;
    for (const TreePid pid : created)
        pids.push_back(sameNamespace.outside(pid));
    return pids;
}

std::vector<HostPid> RestoredPids::killRound() {
    const bool initLives = !initHandle_.waitExit() && initHandle_.sendSignal(SIGKILL);
    std::vector<HostPid> left;
    // The kernel kills all other processes of the tree's pid namespace when the namespace's init ends
    // (pid_namespaces(7)).
    if (space_ != TreePidNs::OfTree)
        left = RestoreDescendants(createdHere(), initLives ? first_.init : HostPid()).killAll();
    if (initLives && std::find(left.begin(), left.end(), first_.init) == left.end())
        left.push_back(first_.init);
    return left;
}

std::vector<HostPid> RestoredPids::allOf(const std::vector<HostPid>& left) const {
    return space_ == TreePidNs::OfTree ? membersOf(numbers_, nullptr) : left;
}

void RestoredPids::killAll() noexcept {
    constexpr std::chrono::minutes kLongest{10};
    const auto deadline = std::chrono::steady_clock::now() + kLongest;
    KilledProcessWait end(patience_);
    std::vector<HostPid> left;
    // Repeats until a round finds no process, because a process may create others before criu kills it.
    for (; std::chrono::steady_clock::now() < deadline; ::usleep(1000)) {
        bool again = false;
        try {
            left = killRound();
            if (end.isOver([&] { return allOf(left); }))
                break;
        } catch (const std::exception&) {
            again = true;  // no memory or descriptors; the next round may succeed
        }
        while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0)
            again = true;
        if (!again && left.empty())
            return;
    }
    try {
        log_.warn(
            "processes of the failed restore are left, since something holds them: {}. They have been killed, and end "
            "when the file system that they wait for answers, or the debugger that they have is gone",
            describeAll(allOf(left)));
    } catch (const std::exception&) {
        log_.warn("not all processes of the failed restore could be ended");
    }
}

}  // namespace criu::engine
