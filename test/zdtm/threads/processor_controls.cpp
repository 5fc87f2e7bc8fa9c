// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't keep them
#include <linux/mempolicy.h>
#include <linux/prctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

constexpr int kinds = 3;
constexpr int io_of_process = 1;

struct Controls {
    int timestamps = 0;
    int machine_check = 0;
    int speculation[kinds] = {};
    long io_priority = 0;
    int memory_policy = 0;
    unsigned long memory_nodes[16] = {};

    static Controls now() {
        Controls found;
        SYS(prctl(PR_GET_TSC, &found.timestamps));
        found.machine_check = prctl(PR_MCE_KILL_GET, 0, 0, 0, 0);
        for (int kind = 0; kind < kinds; ++kind) {
            found.speculation[kind] = prctl(PR_GET_SPECULATION_CTRL, kind, 0, 0, 0);
        }
        // A kernel may lack this call.
        syscall(SYS_get_mempolicy, &found.memory_policy, found.memory_nodes, 1024, 0, 0);
        found.io_priority = SYS(syscall(SYS_ioprio_get, io_of_process, 0));
        return found;
    }
};

}  // namespace

ZDTM("threads with PR_SET_TSC, speculation controls, machine check policy, I/O priority and memory policy") {
    Controls before[4];
    zdtm::Threads threads(
        4,
        [&](unsigned index) {
            if (index == 0) {
                SYS(prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
                const unsigned long first = 1;
                syscall(SYS_set_mempolicy, MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, &first, 64);
                SYS(prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0));
            } else if (index < 3) {
                for (int kind = 0; kind < kinds; ++kind) {
                    // Some processors don't support this control.
                    prctl(PR_SET_SPECULATION_CTRL, kind, index == 1 ? PR_SPEC_DISABLE : PR_SPEC_FORCE_DISABLE, 0, 0);
                }
                SYS(syscall(SYS_ioprio_set, io_of_process, 0, 2 << 13 | static_cast<int>(index)));
            }
            before[index] = Controls::now();
        },
        [&](unsigned index) {
            const Controls after = Controls::now();
            const Controls& old = before[index];
            CHECK(after.timestamps == old.timestamps, "thread %u: TSC %d, was %d", index, after.timestamps,
                  old.timestamps);
            CHECK(after.machine_check == old.machine_check, "thread %u: machine checks %d, were %d", index,
                  after.machine_check, old.machine_check);
            CHECK(after.memory_policy == old.memory_policy && after.memory_nodes[0] == old.memory_nodes[0],
                  "thread %u: memory policy 0x%x of nodes 0x%lx, was 0x%x of 0x%lx", index, after.memory_policy,
                  after.memory_nodes[0], old.memory_policy, old.memory_nodes[0]);
            CHECK(after.io_priority == old.io_priority, "thread %u: I/O priority 0x%lx, was 0x%lx", index,
                  after.io_priority, old.io_priority);
            for (int kind = 0; kind < kinds; ++kind) {
                CHECK(after.speculation[kind] == old.speculation[kind], "thread %u: speculation %d is 0x%x, was 0x%x",
                      index, kind, after.speculation[kind], old.speculation[kind]);
            }
        });
    me.wait_for_check();
    threads.finish();
}
