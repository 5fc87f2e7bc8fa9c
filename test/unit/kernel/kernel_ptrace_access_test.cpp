// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>
#include <catch2/catch.hpp>

#include "criu/kernel/proc/ptrace_access.hpp"

namespace {

using criu::kernel::YamaScope;

TEST_CASE("a scope of Yama that isn't known forbids most") {
    using criu::kernel::parseYamaScope;
    CHECK(parseYamaScope(std::nullopt) == YamaScope::Classic);
    CHECK(parseYamaScope("0\n") == YamaScope::Classic);
    CHECK(parseYamaScope("1\n") == YamaScope::Descendants);
    CHECK(parseYamaScope("2\n") == YamaScope::Capability);
    CHECK(parseYamaScope("3\n") == YamaScope::Nobody);
    CHECK(parseYamaScope("4\n") == YamaScope::Nobody);
    CHECK(parseYamaScope("") == YamaScope::Nobody);
    CHECK(parseYamaScope("x") == YamaScope::Nobody);
}

TEST_CASE("descendants of a process are found by its parents") {
    const criu::kernel::ProcDir proc;
    CHECK(criu::kernel::descendsFrom(proc, ::getpid(), ::getpid()));
    if (::getppid() != 0)  // 0: the parent is in another pid namespace
        CHECK(criu::kernel::descendsFrom(proc, ::getpid(), ::getppid()));
    CHECK_FALSE(criu::kernel::descendsFrom(proc, ::getppid(), ::getpid()));
}

TEST_CASE("the kernel says whether a thread may look into others") {
    const criu::kernel::ProcPid self = criu::kernel::ProcDir().self();
    CHECK(criu::kernel::mayLookInto(self, ::getpid()));
    CHECK_FALSE(criu::kernel::mayLookInto(self, 1));  // not a thread of this process
}

}  // namespace
