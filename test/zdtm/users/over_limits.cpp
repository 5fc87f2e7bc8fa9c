// SPDX-License-Identifier: GPL-2.0-only
#include <sys/resource.h>

#include "other_user.hpp"
#include "zdtm.hpp"

namespace {

void limit_to(__rlimit_resource resource, rlim_t value) {
    const rlimit limit{value, value};
    SYS(setrlimit(resource, &limit));
}

void check_limit(__rlimit_resource resource, rlim_t value) {
    rlimit limit{};
    SYS(getrlimit(resource, &limit));
    CHECK(limit.rlim_cur == value && limit.rlim_max == value, "limit %d is %llu", static_cast<int>(resource),
          static_cast<unsigned long long>(limit.rlim_cur));
}

}  // namespace

ZDTM(
    "a user's processes with all the locked memory that they may have, over their limit of processes, can execute "
    "programs") {
    constexpr std::size_t kLocked = 65536;
    const auto live = [](zdtm::Task& task) {
        const std::span<std::byte> memory = zdtm::map(kLocked);
        zdtm::become_user();
        limit_to(RLIMIT_MEMLOCK, kLocked);
        SYS(mlock(memory.data(), memory.size()));
        limit_to(RLIMIT_NPROC, 0);
        limit_to(RLIMIT_SIGPENDING, 0);
        limit_to(RLIMIT_MSGQUEUE, 0);
        task.wait_for_check();
        CHECK(zdtm::has_vm_flag(memory.data(), "lo"), "not locked");
        check_limit(RLIMIT_MEMLOCK, kLocked);
        for (const auto resource : {RLIMIT_NPROC, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE})
            check_limit(resource, 0);
        CHECK(fork() == -1 && errno == EAGAIN, "a process more");
        SYS(execl("/bin/true", "true", nullptr));
    };
    const pid_t first = me.start_child(live);
    const pid_t second = me.start_child(live);
    me.wait_for_check();
    me.finish(first);
    me.finish(second);
}
