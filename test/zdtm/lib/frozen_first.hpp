// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string>

#include "zdtm.hpp"

namespace zdtm {

// A cgroup that criu freezes before it dumps the tree in it.
struct FrozenGroup {
    const char* type;     // file system type, mounted on /mnt
    const char* options;  // mount options
    std::string path;     // argument of --freeze-cgroup
    const char* state;    // file with the state
    const char* running;  // content of the file while the group runs
};

// Puts this program, a child and busy threads into the group. Requires the group to run after the dump.
void dump_frozen_first(Task& me, const FrozenGroup& group);

// Does the same with a child that this program traces, so criu can't seize it. `wait` must call wait_for_check() and
// may do more.
void dump_with_traced_child(Task& me, const FrozenGroup& group, const std::function<void()>& wait);

// Puts a child into a version 1 freezer group, and freezes the group. Requires the group to be frozen after dump and
// restore, and the child not to have run. `name` is the group's directory below /mnt.
void dump_already_frozen(Task& me, const std::string& name);

}  // namespace zdtm
