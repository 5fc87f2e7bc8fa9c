// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
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

// The same with a child that this program traces, so that it can't be seized: `wait` has this process dumped, and in
// between does what else belongs to the test.
void dump_with_traced_child(Task& me, const FrozenGroup& group, const std::function<void()>& wait);

// Has a child run in a group of the freezer of version 1, which `name` is, and freezes the group. It has to be frozen
// after the dump and the restore, and the child must not have run meanwhile.
void dump_already_frozen(Task& me, const std::string& name);

}  // namespace zdtm
