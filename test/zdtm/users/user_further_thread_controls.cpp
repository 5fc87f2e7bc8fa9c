// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one user namespace only
// zdtm: modes once, five
#include <linux/mempolicy.h>
#include <linux/prctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "threads.hpp"
#include "user_spaces.hpp"

namespace {

struct Controls {
    int timestamps = 0;
    int machine_check = 0;
    int memory_policy = 0;
    unsigned long memory_nodes[16] = {};

    static Controls now() {
        Controls found;
        SYS(prctl(PR_GET_TSC, &found.timestamps));
        found.machine_check = prctl(PR_MCE_KILL_GET, 0, 0, 0, 0);
        // A kernel may lack this call.
        syscall(SYS_get_mempolicy, &found.memory_policy, found.memory_nodes, 1024, 0, 0);
        return found;
    }

    void check(const Controls& before, const char* who) const {
        CHECK(timestamps == before.timestamps, "%s: TSC %d, was %d", who, timestamps, before.timestamps);
        CHECK(machine_check == before.machine_check, "%s: machine checks %d, were %d", who, machine_check,
              before.machine_check);
        CHECK(memory_policy == before.memory_policy && memory_nodes[0] == before.memory_nodes[0],
              "%s: memory policy 0x%x of nodes 0x%lx, was 0x%x of 0x%lx", who, memory_policy, memory_nodes[0],
              before.memory_policy, before.memory_nodes[0]);
    }
};

// Sets controls of the main thread only.
void live(zdtm::Task& task) {
    zdtm::become_root_inside();
    Controls others;
    Controls others_after;
    zdtm::Threads threads(
        1, [&](unsigned) { others = Controls::now(); }, [&](unsigned) { others_after = Controls::now(); });
    threads.wait_arrived();
    const unsigned long first = 1;
    syscall(SYS_set_mempolicy, MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, &first, 64);
    SYS(prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0));
    SYS(prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
    const Controls mine = Controls::now();
    task.wait_for_check();
    const Controls mine_after = Controls::now();
    SYS(prctl(PR_SET_TSC, PR_TSC_ENABLE));
    mine_after.check(mine, "the main thread");
    threads.finish();
    others_after.check(others, "the other thread");
}

}  // namespace

ZDTM("the main thread has other processor controls and memory policy than its threads in a nested user namespace") {
    const pid_t child = me.start_child(live);
    me.wait_for_check();
    me.finish(child);
}
