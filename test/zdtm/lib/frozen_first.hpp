// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "zdtm.hpp"

namespace zdtm {

// A control group that criu freezes before it dumps the tree in it.
struct FrozenGroup {
    const char* type;     // of the filesystem, mounted on /mnt
    const char* options;  // of the mount
    std::string path;     // what --freeze-cgroup names
    const char* state;    // the file that tells whether the group is frozen
    const char* running;  // what it says when it is not
};

// Takes this program, a child and busy threads into the group, and finds the group running after the dump.
void dump_frozen_first(Task& me, const FrozenGroup& group);

}  // namespace zdtm
