// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, attacked
// zdtm: timeout 120
// zdtm: fails-with-4.2 without CAP_SYS_RESOURCE it can't read another user's limits
#include <sys/mman.h>
#include <sys/prctl.h>

#include "zdtm.hpp"

namespace {
constexpr uid_t kUser = 1000;

void become_user() {
    SYS(setresgid(kUser, kUser, kUser));
    SYS(setresuid(kUser, kUser, kUser));
    SYS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

// Takes long to restore: neighbours of different rights can't be one mapping.
void map_much() {
    constexpr std::size_t count = 20'000;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* const start = static_cast<char*>(mmap(nullptr, count * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(start != MAP_FAILED, "mmap: %m");
    for (std::size_t i = 0; i < count; i += 2)
        SYS(mprotect(start + i * page, page, PROT_READ | PROT_WRITE));
}
}  // namespace

ZDTM("processes of a user, some of which take longer to restore than others") {
    const auto quick = [](zdtm::Task& task) {
        become_user();
        task.wait_for_check();
        CHECK(setuid(0) == -1 && errno == EPERM, "it can become root");
    };
    const auto slow = [](zdtm::Task& task) {
        map_much();
        become_user();
        task.wait_for_check();
        CHECK(setuid(0) == -1 && errno == EPERM, "it can become root");
    };
    const pid_t children[] = {me.start_child(slow), me.start_child(quick), me.start_child(slow), me.start_child(quick)};
    me.wait_for_check();
    for (const pid_t child : children)
        me.finish(child);
}
