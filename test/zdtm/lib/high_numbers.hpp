// SPDX-License-Identifier: GPL-2.0-only
// Numbers that are above the limit of the place where the tree is restored. Programs lower it by
//
//     // zdtm: between f=/proc/sys/kernel/pid_max; was=$(cat $f); unshare -pf sh -c "echo $((was-1)) >$f"; ...
//
// which does so only where each pid namespace has a limit of its own (Linux 6.14), and that of the machine stays.
#pragma once

#include <string>

#include "zdtm.hpp"

namespace zdtm {

// Chooses the number of the next process or thread of this pid namespace, and returns it.
inline pid_t name_next_above_limit() {
    constexpr pid_t number = 30000;
    write_file("/proc/sys/kernel/ns_last_pid", std::to_string(number - 1));
    return number;
}

// The limit has been raised if it was too low.
inline void check_limit(pid_t number) {
    const pid_t limit = std::stoi(read_file("/proc/sys/kernel/pid_max"));
    CHECK(limit > number, "%d is above the limit, %d", number, limit);
}

}  // namespace zdtm
