// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("orphans of a subreaper inside the tree stay its children") {
    const std::span<std::byte> memory =
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const shared = reinterpret_cast<pid_t*>(memory.data());
    const pid_t reaper = me.start_child([&](zdtm::Task& task) {
        SYS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
        const pid_t self = getpid();
        const pid_t middle = task.start_child([&](zdtm::Task& parent) {
            for (int i = 0; i < 3; ++i) {
                shared[i] = parent.start_child([self](zdtm::Task& orphan) {
                    orphan.wait_for_check();
                    CHECK(getppid() == self, "parent was %d, is %d", self, getppid());
                });
            }
            parent.wait_for_check();
        });
        task.finish(middle);
        task.wait_for_check();
        for (int i = 0; i < 3; ++i) {
            task.finish(shared[i]);
        }
    });
    me.wait_for_check();
    me.finish(reaper);
}
