// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("a child subreaper is still one and gets orphans") {
    SYS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    const std::span<std::byte> memory =
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const shared = reinterpret_cast<pid_t*>(memory.data());
    const pid_t middle = me.start_child([&](zdtm::Task& task) {
        *shared = task.start_child([](zdtm::Task& orphan) { orphan.wait_for_check(); });
        task.wait_for_check();
    });
    me.wait_for_check();

    int value = 0;
    SYS(prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0));
    CHECK(value == 1, "not a subreaper any more");
    me.finish(middle);
    me.finish(*shared);
}
