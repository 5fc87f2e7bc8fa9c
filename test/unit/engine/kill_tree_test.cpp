// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/kill_tree.hpp"

#include <catch2/catch.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/dump/frozen_tree.hpp"

using namespace criu;

namespace {

constexpr std::size_t kProcesses = 4;

[[noreturn]] void sleepUntilKilled() {
    for (;;)
        ::pause();
}

/// Process with children; each process is in a process group of its own. All of them are children of the test, so that
/// the test sees which ones end.
class TreeOfGroups {
public:
    TreeOfGroups() {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        pids_[0] = ::fork();
        if (pids_[0] == 0) {
            ::setpgid(0, 0);
            for (std::size_t i = 1; i < kProcesses; ++i) {
                pids_[i] = ::fork();
                if (pids_[i] == 0) {
                    ::setpgid(0, 0);
                    sleepUntilKilled();
                }
            }
            (void)!::write(ends[1], pids_.data(), sizeof(pids_));
            sleepUntilKilled();
        }
        const pid_t root = pids_[0];
        REQUIRE(::read(ends[0], pids_.data(), sizeof(pids_)) == sizeof(pids_));
        pids_[0] = root;
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ~TreeOfGroups() {
        ::kill(pids_[0], SIGKILL);
        (void)::waitpid(pids_[0], nullptr, __WALL);
        for (std::size_t i = 1; i < kProcesses; ++i)
            ::kill(pids_[i], SIGKILL);
        while (::waitpid(-1, nullptr, __WALL) > 0) {
        }
        ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    }
    TreeOfGroups(const TreeOfGroups&) = delete;
    TreeOfGroups& operator=(const TreeOfGroups&) = delete;

    [[nodiscard]] pid_t pid(std::size_t index) const { return pids_.at(index); }
    /// Returns the number of processes that have a pending SIGKILL or have ended.
    [[nodiscard]] std::size_t ending() const {
        return static_cast<std::size_t>(std::count_if(pids_.begin(), pids_.end(), isEnding));
    }

private:
    static bool isEnding(pid_t pid) {
        char path[64];
        std::snprintf(path, sizeof(path), "/proc/%d/status", pid);
        FILE* const file = std::fopen(path, "re");
        if (file == nullptr)
            return true;
        char line[256];
        bool ends = false;
        while (std::fgets(line, sizeof(line), file) != nullptr) {
            unsigned long long set = 0;
            char state = 0;
            if (std::sscanf(line, "State: %c", &state) == 1 && (state == 'Z' || state == 'X'))
                ends = true;
            if ((std::sscanf(line, "SigPnd: %llx", &set) == 1 || std::sscanf(line, "ShdPnd: %llx", &set) == 1) &&
                (set & (1ULL << (SIGKILL - 1))) != 0)
                ends = true;
        }
        std::fclose(file);
        // A process in its exit has taken SIGKILL from its queue. Field 9 of /proc/PID/stat contains PF_EXITING (4).
        std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        FILE* const stat = std::fopen(path, "re");
        if (stat == nullptr)
            return true;
        unsigned flags = 0;
        if (std::fscanf(stat, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & 4U) != 0)
            ends = true;
        std::fclose(stat);
        return ends;
    }

    std::array<pid_t, kProcesses> pids_{};
};

/// System call that names a process in one argument, and optionally has a fixed first argument.
struct NamingCall {
    long number;
    std::size_t pidArgument;
    std::optional<std::uint32_t> first;
};
constexpr NamingCall kSetOptions{SYS_ptrace, 1, PTRACE_SETOPTIONS};
constexpr NamingCall kKill{SYS_kill, 0, std::nullopt};

std::uint32_t offsetOf(std::size_t argument) {
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + sizeof(std::uint64_t) * argument);
}

/// Makes the kernel kill the calling process at its first call of this kind that names `pid`.
void dieAt(const NamingCall& call, pid_t pid) {
    const auto first = call.first.value_or(static_cast<std::uint32_t>(pid));
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call.number), 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetOf(0)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetOf(call.pidArgument)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(pid), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{std::size(program), program};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
        ::_exit(2);
}

/// Lets a tracer kill the tree, and kills the tracer at its first call of this kind that names the process `index`.
/// Returns the number of processes that end.
std::size_t endingAfterDeathAt(const NamingCall& call, const TreeOfGroups& tree, std::size_t index) {
    const pid_t tracer = ::fork();
    if (tracer == 0) {
        StopRequest stop;
        Log log;
        // The filter precedes the freeze: a tracer under seccomp may not change the options of a task whose seccomp
        // filters it has suspended.
        dieAt(call, tree.pid(index));
        try {
            engine::FrozenTree frozen(std::chrono::seconds(10), stop, log);
            frozen.freeze(HostPid(tree.pid(0)), std::nullopt, [](HostPid) {});
            (void)frozen.kill();
        } catch (const std::exception&) {
            ::_exit(3);
        }
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(tracer, &status, 0) == tracer);
    INFO("status of the tracer: " << status);
    REQUIRE((WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
    return tree.ending();
}

}  // namespace

TEST_CASE("a tracer that dies while it kills a tree has killed all processes or none", "[kill_tree]") {
    const std::size_t index = GENERATE(0, 1, 2, 3);
    const NamingCall call = GENERATE(kSetOptions, kKill);
    const TreeOfGroups tree;
    const std::size_t ending = endingAfterDeathAt(call, tree, index);
    CHECK((ending == 0 || ending == kProcesses));
}
