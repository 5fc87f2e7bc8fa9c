// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
// Returns the effective capabilities of this thread. The raw system call doesn't affect other threads, unlike setuid().
std::uint64_t effective() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    SYS(syscall(SYS_capget, &header, data));
    return data[0].effective | (std::uint64_t{data[1].effective} << 32);
}

void drop(unsigned capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    SYS(syscall(SYS_capget, &header, data));
    data[capability / 32].effective &= ~(1U << (capability % 32));
    data[capability / 32].permitted &= ~(1U << (capability % 32));
    SYS(syscall(SYS_capset, &header, data));
}
}  // namespace

ZDTM("threads of one process with different capabilities and secure bits") {
    constexpr unsigned first = CAP_NET_ADMIN;
    std::uint64_t before[3] = {};
    zdtm::Threads threads(
        3,
        [&](unsigned index) {
            if (index == 2) {
                SYS(prctl(PR_SET_SECUREBITS, 1 << 2 /* SECBIT_NO_SETUID_FIXUP */));
            }
            drop(first + index);
            before[index] = effective();
        },
        [&](unsigned index) {
            CHECK(effective() == before[index], "thread %u had 0x%lx, has 0x%lx", index, before[index], effective());
            const int bits = prctl(PR_GET_SECUREBITS);
            CHECK(bits == (index == 2 ? 1 << 2 : 0), "thread %u has securebits 0x%x", index, bits);
        });
    me.wait_for_check();
    threads.finish();
    CHECK((effective() >> first & 7) == 7, "the first thread lost capabilities: 0x%lx", effective());
}
