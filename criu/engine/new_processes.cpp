// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/new_processes.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <vector>

#include "criu/kernel/procdir.hpp"
#include "criu/kernel/stat.hpp"

namespace criu::engine {
namespace {

/// One that has ended may be somebody else's to reap (--restore-sibling).
bool lives(pid_t pid) noexcept {
    try {
        kernel::ProcBuffer buffer;
        const kernel::TaskState state = kernel::readStat(kernel::ProcDir().open(pid), buffer).state;
        return state != kernel::TaskState::Zombie && state != kernel::TaskState::Dead;
    } catch (const std::exception&) {
        return false;
    }
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

NewProcesses::NewProcesses(const RestoreControl& control, bool ownPids, Log& log,
                           const std::function<pid_t()>& createRoot)
    : control_(control), ownPids_(ownPids), log_(log), root_(createRoot()) {}

NewProcesses::~NewProcesses() {
    if (!released_)
        killAll();
}

void NewProcesses::release() noexcept {
    released_ = true;
    Subreaper::end();
}

void NewProcesses::killAll() noexcept {
    // Creating goes on while we look: repeat until a pass finds nobody new and nobody left.
    // The end of a whole pid namespace takes as long as its memory takes to free.
    constexpr int kRounds = 2000;
    constexpr int kRoundsOfNamespace = 600'000;
    for (int round = 0; round < (ownPids_ ? kRoundsOfNamespace : kRounds); ++round) {
        bool left = false;
        for (const pid_t pid : ownPids_ ? std::vector<pid_t>{root_} : control_.created()) {
            left = (::kill(pid, SIGKILL) == 0 && lives(pid)) || left;
            ::waitpid(pid, nullptr, WNOHANG | __WALL);
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
