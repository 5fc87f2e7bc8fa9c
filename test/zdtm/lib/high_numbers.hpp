// SPDX-License-Identifier: GPL-2.0-only
// Ids above pid_max of the pid namespace that a restore creates. Programs lower the limit by
//
//     // zdtm: between f=/proc/sys/kernel/pid_max; was=$(cat $f); unshare -pf sh -c "echo $((was-1)) >$f"; ...
//
// It works where each pid namespace has its own limit (Linux 6.14). The limit of the machine stays.
#pragma once

#include <string>

#include "zdtm.hpp"

namespace zdtm {

// Sets the id of the next process or thread of this pid namespace, and returns it.
inline pid_t name_next_above_limit() {
    constexpr pid_t number = 30000;
    write_file("/proc/sys/kernel/ns_last_pid", std::to_string(number - 1));
    return number;
}

// Requires the restore to have raised the limit above this id.
inline void check_limit(pid_t number) {
    const pid_t limit = std::stoi(read_file("/proc/sys/kernel/pid_max"));
    CHECK(limit > number, "%d is above the limit, %d", number, limit);
}

}  // namespace zdtm
