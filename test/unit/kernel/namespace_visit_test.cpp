// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/namespace_visit.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <new>

#include "criu/base/unique_fd.hpp"

using namespace criu;

namespace {

/// Memory that the processes of this test share.
struct Shared {
    std::atomic<pid_t> helper{0};
    std::atomic<int> traced{0};  ///< 1: ptrace succeeded; otherwise minus the errno
};

template <typename Condition>
void awaitThat(Condition&& condition) {
    while (!condition())
        ::usleep(1000);
}

/// Runs as root of a new user namespace, and traces the helper as soon as it exists.
[[noreturn]] void attack(Shared& shared, int ready) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char entered = ::unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
    if (::write(ready, &entered, 1) != 1)
        ::_exit(1);
    awaitThat([&] { return shared.helper != 0; });
    shared.traced = ::ptrace(PTRACE_SEIZE, shared.helper.load(), nullptr, nullptr) == 0 ? 1 : -errno;
    ::_exit(0);  // detaches the tracee, whose end its parent then sees
}

}  // namespace

TEST_CASE("who is root in a user namespace can't trace what criu has enter it, and would find nothing there") {
    void* const room = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(room != MAP_FAILED);
    auto& shared = *new (room) Shared;
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const pid_t attacker = ::fork();
    if (attacker == 0)
        attack(shared, ends[1]);
    char entered = 0;
    REQUIRE(::read(ends[0], &entered, 1) == 1);
    if (entered == 'y') {
        const UniqueFd space(::open(fmt::format("/proc/{}/ns/user", attacker).c_str(), O_RDONLY | O_CLOEXEC));
        const UniqueFd secret(::open("/", O_RDONLY | O_DIRECTORY));
        REQUIRE((space && secret));
        const int spaces[] = {space.get()};
        const auto opened = kernel::openInNamespaces(spaces, {}, [&] {
            shared.helper = ::getpid();
            awaitThat([&] { return shared.traced != 0; });
            std::map<int, UniqueFd> result;
            if (::fcntl(secret.get(), F_GETFD) < 0 && ::fcntl(ends[0], F_GETFD) < 0)
                result.emplace(1, UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
            return result;
        });
        CHECK(shared.traced == -EPERM);
        CHECK(opened.contains(1));
    } else {
        WARN("skipped: no right to make a user namespace");
    }
    CHECK(::kill(attacker, SIGKILL) == 0);
    CHECK(::waitpid(attacker, nullptr, 0) == attacker);
    ::close(ends[0]);
    ::close(ends[1]);
    ::munmap(room, sizeof(Shared));
}

TEST_CASE("criu doesn't wait without limit for its process that is stopped in a namespace") {
    const auto stopped = [] {
        ::raise(SIGSTOP);
        return std::map<int, UniqueFd>();
    };
    CHECK_THROWS_WITH(kernel::openInNamespaces({}, {}, stopped, std::chrono::milliseconds(50)),
                      Catch::Matchers::Contains("may have stopped it"));
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);  // no process is left
}
