// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "criu/base/error.hpp"
#include "criu/kernel/mm/memory_policy.hpp"

using criu::kernel::MemoryPolicy;

TEST_CASE("The kernel makes memory of one thread where that prefers it") {
    if (::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0) != 0)
        return;  // a kernel without NUMA, or a container that forbids it
    bool set = false;
    int mode = -1;
    int after = -1;
    MemoryPolicy::Nodes nodes{};
    std::thread([&] {
        set = criu::kernel::setMemoryPolicy(MemoryPolicy::preferring(0));
        ::syscall(SYS_get_mempolicy, &mode, nodes.data(), MemoryPolicy::kMostNodes, 0, 0);
    }).join();
    ::syscall(SYS_get_mempolicy, &after, nullptr, 0, 0, 0);
    CHECK(set);
    CHECK(mode == MPOL_PREFERRED);
    CHECK(nodes == MemoryPolicy::preferring(0).nodes);
    CHECK(after == MPOL_DEFAULT);
}

TEST_CASE("A node that no machine has isn't preferred") {
    CHECK(MemoryPolicy::preferring(65).nodes[1] == 2);
    CHECK_THROWS_AS(MemoryPolicy::preferring(1024), criu::Error);
    CHECK_FALSE(criu::kernel::setMemoryPolicy(MemoryPolicy::preferring(1022)));
}
