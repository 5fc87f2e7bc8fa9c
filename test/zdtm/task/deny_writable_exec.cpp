// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't keep it
#include <sys/mman.h>
#include <sys/prctl.h>

#include "zdtm.hpp"

namespace {
constexpr int set_deny = 65;  // PR_SET_MDWE
constexpr int get_deny = 66;
}  // namespace

ZDTM("PR_SET_MDWE in a process and its child: writable memory can't become executable") {
    if (prctl(set_deny, 1, 0, 0, 0) == -1) {
        zdtm::skip("PR_SET_MDWE: %s", strerror(errno));
    }
    const auto check = [] {
        CHECK(prctl(get_deny, 0, 0, 0, 0) == 1, "flags %d", prctl(get_deny, 0, 0, 0, 0));
        const auto memory = zdtm::map(zdtm::page_size());
        CHECK(mprotect(memory.data(), memory.size(), PROT_READ | PROT_EXEC) == -1, "memory became executable");
    };
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        check();
    });
    me.wait_for_check();
    check();
    me.finish(child);
}
