// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

namespace {
using Set = std::uint64_t;

constexpr Set bit(unsigned capability) {
    return Set{1} << capability;
}

struct Sets {
    Set effective, permitted, inheritable;
    bool operator==(const Sets&) const = default;
};

Sets get() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    SYS(syscall(SYS_capget, &header, data));
    const auto join = [&](auto field) { return data[0].*field | (Set{data[1].*field} << 32); };
    return {join(&__user_cap_data_struct::effective), join(&__user_cap_data_struct::permitted),
            join(&__user_cap_data_struct::inheritable)};
}

void set(const Sets& sets) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    for (unsigned i = 0; i < 2; ++i) {
        data[i].effective = static_cast<unsigned>(sets.effective >> (32 * i));
        data[i].permitted = static_cast<unsigned>(sets.permitted >> (32 * i));
        data[i].inheritable = static_cast<unsigned>(sets.inheritable >> (32 * i));
    }
    SYS(syscall(SYS_capset, &header, data));
}
}  // namespace

ZDTM("effective, permitted, inheritable, bounding and ambient capabilities") {
    SYS(prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT, 0, 0, 0));
    SYS(prctl(PR_CAPBSET_DROP, CAP_MAC_ADMIN, 0, 0, 0));
    Sets sets = get();
    sets.permitted &= ~bit(CAP_SYS_TIME);
    sets.effective = sets.permitted & ~bit(CAP_NET_RAW);
    sets.inheritable = bit(CAP_NET_ADMIN) | bit(CAP_KILL);
    set(sets);
    SYS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0));
    me.wait_for_check();

    const Sets now = get();
    CHECK(now == sets, "effective 0x%lx, permitted 0x%lx, inheritable 0x%lx", now.effective, now.permitted,
          now.inheritable);
    for (const int dropped : {CAP_SYS_BOOT, CAP_MAC_ADMIN}) {
        CHECK(prctl(PR_CAPBSET_READ, dropped, 0, 0, 0) == 0, "capability %d is in the bounding set", dropped);
    }
    CHECK(prctl(PR_CAPBSET_READ, CAP_NET_RAW, 0, 0, 0) == 1, "the bounding set shrank");
    for (unsigned i = 0; i <= CAP_CHECKPOINT_RESTORE; ++i) {
        const int ambient = SYS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0));
        CHECK(ambient == (i == CAP_KILL ? 1 : 0), "capability %u: ambient %d", i, ambient);
    }
}
