// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/simultaneous_kill.hpp"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

using namespace criu;

namespace {

/// Children of this process that sleep. The destructor kills them.
class Sleepers {
public:
    explicit Sleepers(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0)
                for (;;)
                    ::pause();
            pids_.push_back(pid);
        }
    }
    ~Sleepers() {
        for (const pid_t pid : pids_) {
            ::kill(pid, SIGKILL);
            (void)::waitpid(pid, nullptr, 0);
        }
    }
    Sleepers(const Sleepers&) = delete;
    Sleepers& operator=(const Sleepers&) = delete;

    [[nodiscard]] const std::vector<pid_t>& pids() const { return pids_; }
    /// Waits for the ends of all sleepers, and returns true if SIGKILL ended each of them.
    [[nodiscard]] bool wereKilled() {
        bool all = true;
        for (const pid_t pid : pids_) {
            int status = 0;
            all = ::waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && all;
        }
        pids_.clear();
        return all;
    }
    [[nodiscard]] bool allRun() const {
        for (const pid_t pid : pids_)
            if (::waitpid(pid, nullptr, WNOHANG) != 0)
                return false;
        return true;
    }

private:
    std::vector<pid_t> pids_;
};

}  // namespace

TEST_CASE("one call kills all prepared processes", "[simultaneous_kill]") {
    Sleepers sleepers(5);
    kernel::SimultaneousKill kill(sleepers.pids());
    kill.send();
    CHECK(sleepers.wereKilled());
}

TEST_CASE("a caller that dies before the call kills no process", "[simultaneous_kill]") {
    const Sleepers sleepers(5);
    const pid_t caller = ::fork();
    if (caller == 0) {
        const kernel::SimultaneousKill kill(sleepers.pids());
        ::raise(SIGKILL);
    }
    REQUIRE(::waitpid(caller, nullptr, 0) == caller);
    CHECK(sleepers.allRun());
}

TEST_CASE("a caller that decides otherwise kills no process", "[simultaneous_kill]") {
    const Sleepers sleepers(5);
    { const kernel::SimultaneousKill kill(sleepers.pids()); }
    CHECK(sleepers.allRun());
}
