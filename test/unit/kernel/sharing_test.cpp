// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/sharing.hpp"

#include <catch2/catch.hpp>

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "criu/base/error.hpp"

using criu::HostPid;
using criu::kernel::KcmpType;
using criu::kernel::Sharing;

namespace {

/// Children that share something with this process, or with a child of their own.
class Children {
public:
    ~Children() {
        for (const HostPid pid : pids_) {
            ::kill(pid.value, SIGKILL);
            (void)::waitpid(pid.value, nullptr, __WALL);
        }
    }

    HostPid add(unsigned long flags = 0) {
        const long pid = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
        if (pid == 0)
            for (;;)
                ::pause();
        REQUIRE(pid > 0);
        return pids_.emplace_back(static_cast<pid_t>(pid));
    }

    [[nodiscard]] const std::vector<HostPid>& pids() const noexcept { return pids_; }

private:
    std::vector<HostPid> pids_;
};

}  // namespace

TEST_CASE("processes that have everything for themselves share nothing", "[sharing]") {
    Children children;
    for (int i = 0; i < 5; ++i)
        children.add();
    for (const KcmpType type : {KcmpType::Vm, KcmpType::Fs, KcmpType::Files}) {
        const Sharing sharing(children.pids(), type);
        CHECK_FALSE(sharing.anyPair());
        for (const HostPid pid : children.pids())
            CHECK(sharing.firstOf(pid) == pid);
        CHECK_FALSE(sharing.partnerOf(HostPid(::getpid())));
    }
}

TEST_CASE("processes that share an object are found among many, sorted by one thread or by several", "[sharing]") {
    // Enough processes for several threads, and numbers that aren't powers of two.
    const std::size_t count = GENERATE(3U, 40U, 333U);
    Children children;
    for (std::size_t i = 0; i < count; ++i)
        children.add(i % 10 == 1 ? CLONE_FILES : 0);
    const Sharing tables(children.pids(), KcmpType::Files);
    const HostPid first = tables.firstOf(children.pids()[1]);
    std::size_t sharers = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const HostPid pid = children.pids()[i];
        INFO("child " << i);
        CHECK(tables.firstOf(pid) == (i % 10 == 1 ? first : pid));
        sharers += i % 10 == 1 ? 1 : 0;
    }
    // The children share it with this process, which isn't among them.
    const auto partner = tables.partnerOf(HostPid(::getpid()));
    REQUIRE(partner);
    CHECK(tables.firstOf(*partner) == first);
    if (sharers > 1) {
        const auto pair = tables.anyPair();
        REQUIRE(pair);
        CHECK(pair->first < pair->second);
        CHECK(tables.firstOf(pair->first) == tables.firstOf(pair->second));
    }
    CHECK_FALSE(Sharing(children.pids(), KcmpType::Fs).anyPair());
}

TEST_CASE("a process that has gone is told by its error", "[sharing]") {
    Children children;
    children.add();
    children.add();
    const pid_t gone = ::fork();
    if (gone == 0)
        ::_exit(0);
    REQUIRE(::waitpid(gone, nullptr, 0) == gone);
    const Sharing memory(children.pids(), KcmpType::Vm);
    try {
        (void)memory.partnerOf(HostPid(gone));
        FAIL("it was compared");
    } catch (const criu::Error& error) {
        CHECK(error.code() == ESRCH);
    }
}
