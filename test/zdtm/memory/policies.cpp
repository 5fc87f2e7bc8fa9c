// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't keep them
#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include <array>
#include <vector>

#include "zdtm.hpp"

namespace {

using Memory = std::span<std::byte>;

struct Policy {
    int mode = 0;
    unsigned long nodes[16] = {};
    bool operator==(const Policy&) const = default;
};

bool choose(Memory memory, int mode, unsigned long nodes) {
    return syscall(SYS_mbind, memory.data(), memory.size(), mode, &nodes, 65, 0) == 0;
}

Policy of(const void* address) {
    Policy policy;
    SYS(syscall(SYS_get_mempolicy, &policy.mode, policy.nodes, 1024, address, MPOL_F_ADDR));
    return policy;
}

}  // namespace

ZDTM("memory policies of mappings (mbind), others in a child, and many of them") {
    const std::size_t page = zdtm::page_size();
    std::vector<Memory> all;
    for (const int flags : {MAP_PRIVATE, MAP_PRIVATE, MAP_PRIVATE, MAP_SHARED}) {
        all.push_back(zdtm::map(8 * page, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS));
        zdtm::map(page, PROT_NONE);
    }
    if (!choose(all[0], MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, 1)) {
        zdtm::skip("mbind: %s", strerror(errno));
    }
    SYS(choose(all[1], MPOL_BIND, 1) ? 0 : -1);
    SYS(choose(all[1].subspan(4 * page, page), MPOL_PREFERRED, 1) ? 0 : -1);
    SYS(choose(all[3], MPOL_BIND, 1) ? 0 : -1);
    for (Memory memory : all) {
        zdtm::fill(memory, 1);
    }
    const Memory many = zdtm::map(600 * page);
    for (std::size_t at = 0; at < many.size(); at += 2 * page) {
        SYS(choose(many.subspan(at, page), MPOL_BIND, 1) ? 0 : -1);
    }
    const std::array<const std::byte*, 7> seen = {all[0].data(), all[1].data(), &all[1][4 * page],    all[2].data(),
                                                  all[3].data(), many.data(),   &many[599 * page - 1]};
    std::array<Policy, 7> before;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        before[i] = of(seen[i]);
    }
    CHECK(before[0].mode == (MPOL_INTERLEAVE | MPOL_F_STATIC_NODES), "policy %#x", before[0].mode);
    CHECK(before[3].mode == MPOL_DEFAULT && before[6] == before[1], "policy %#x", before[6].mode);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        SYS(choose(all[0], MPOL_DEFAULT, 0) ? 0 : -1);
        SYS(choose(all[2], MPOL_BIND, 1) ? 0 : -1);
        task.wait_for_check();
        CHECK(of(all[0].data()).mode == MPOL_DEFAULT, "policy %#x", of(all[0].data()).mode);
        CHECK(of(all[2].data()) == before[1], "policy %#x", of(all[2].data()).mode);
        CHECK(of(all[1].data()) == before[1], "policy %#x", of(all[1].data()).mode);
        CHECK(zdtm::first_difference(all[2], 1) < 0, "the data changed");
    });
    me.wait_for_check();
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const Policy now = of(seen[i]);
        CHECK(now == before[i], "%zu: policy %#x instead of %#x", i, now.mode, before[i].mode);
    }
    for (Memory memory : all) {
        CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    }
    me.finish(child);
}
