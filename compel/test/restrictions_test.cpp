// SPDX-License-Identifier: LGPL-2.1-only
// Tests how a tracer reads restrictions that threads have set for themselves, such as seccomp filters.
#include <compel/error.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <catch2/catch.hpp>

#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "child.hpp"

using namespace compel;
using test::Child;

namespace {

/// Installs a seccomp filter that allows all system calls. `mark`: number in the filter by which the test recognizes
/// it.
long installFilter(std::uint32_t mark, unsigned flags) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_IMM, mark),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog all{2, program};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all);
}

std::uint32_t markOf(const SeccompFilter& filter) {
    sock_filter first{};
    std::memcpy(&first, filter.program.data(), sizeof(first));
    return first.k;
}

void* idle(void*) {
    for (;;)
        ::pause();
}

}  // namespace

TEST_CASE("seccomp filters are read in the order in which they were installed") {
    Child child([](const Child::Talk& talk) {
        if (installFilter(11, 0) != 0 || installFilter(22, SECCOMP_FILTER_FLAG_LOG) != 0)
            return 1;
        talk.say("ready");
        talk.hear();
        return 0;
    });
    REQUIRE(child.hear() == "ready");
    {
        const auto process = FrozenProcess::freeze(child.pid(), {.seize = {.suspendSeccomp = true}});
        const auto filters = process.threads().front().tracee.seccompFilters();
        REQUIRE(filters.size() == 2);
        CHECK(markOf(filters[0]) == 11);
        CHECK(markOf(filters[1]) == 22);
        CHECK(filters[0].program.size() == 2 * sizeof(sock_filter));
        CHECK(filters[0].flags == 0);
        CHECK(filters[1].flags == SECCOMP_FILTER_FLAG_LOG);
    }
    child.say("go on");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a thread without filters has none") {
    Child child([](const Child::Talk& talk) {
        talk.hear();
        return 0;
    });
    {
        const auto process = FrozenProcess::freeze(child.pid());
        CHECK(process.threads().front().tracee.seccompFilters().empty());
        CHECK_FALSE(process.threads().front().tracee.userDispatch());
    }
    child.say("go on");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("syscall user dispatch can be read, switched off and on again") {
    static constexpr int inclusiveOn = 2;  // PR_SYS_DISPATCH_INCLUSIVE_ON
    const int mode = GENERATE(PR_SYS_DISPATCH_ON, inclusiveOn);
    Child child([mode](const Child::Talk& talk) {
        static char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
        if (prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, 0x1000, 0x2000, &selector) != 0) {
            talk.say("no");
            return 0;
        }
        talk.say("yes");
        talk.hear();
        return 0;
    });
    if (child.hear() == "no") {
        WARN("skipped: this kernel hasn't got syscall user dispatch (5.11), or not mode " << mode << " (6.17)");
        return;
    }
    {
        auto process = FrozenProcess::freeze(child.pid());
        Tracee& tracee = process.leader();
        const auto found = tracee.userDispatch();
        REQUIRE(found);
        // The kernel stores the range whose system calls raise no signal.
        CHECK(found->start == (mode == inclusiveOn ? 0x3000 : 0x1000));
        CHECK(found->size == (mode == inclusiveOn ? -std::uint64_t{0x2000} : 0x2000));
        CHECK(found->selector != 0);
        tracee.setUserDispatch(std::nullopt);
        CHECK_FALSE(tracee.userDispatch());
        tracee.setUserDispatch(found);
        const auto again = tracee.userDispatch();
        REQUIRE(again);
        CHECK(again->selector == found->selector);
        CHECK(again->start == found->start);
        CHECK(again->size == found->size);
    }
    child.say("go on");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a process is seized first and stopped later, with all its threads") {
    Child child([](const Child::Talk& talk) {
        for (int index = 0; index < 5; ++index) {
            pthread_t thread;
            if (pthread_create(&thread, nullptr, idle, nullptr) != 0)
                return 1;
        }
        talk.say("ready");
        talk.hear();
        return 0;
    });
    REQUIRE(child.hear() == "ready");
    {
        auto process = FrozenProcess::seize(child.pid());
        CHECK(process.threads().size() == 6);
        process.stop();
        REQUIRE(process.threads().size() == 6);
        for (const FrozenThread& thread : process.threads())
            CHECK(thread.tracee.stopped());
        RemoteSyscalls remote(process.leader());
        CHECK(remote.call(SYS_getpid) == child.pid());
    }
    child.say("go on");
    CHECK(child.exitCode() == 0);
}
