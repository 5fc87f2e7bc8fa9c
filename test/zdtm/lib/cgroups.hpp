// SPDX-License-Identifier: GPL-2.0-only
// Control groups of a test, in a hierarchy mounted on /mnt: the program has a mount namespace of its own, where the
// mount stays when the program is dumped.
#pragma once

#include <string>

namespace zdtm {

class Task;

class Cgroups {
public:
    // Mounts the hierarchy ("freezer", "none,name=test", "" for version 2) and makes a group in it that is this
    // program's alone. Its path, as a path of files, also goes into the file "group" in the working directory. Skips
    // the test if the machine doesn't have the hierarchy.
    explicit Cgroups(const std::string& options);

    // Path of the group, or of one below it, as a path of files; it is made if it isn't there.
    std::string make(const std::string& below = "") const;

    // The same as /proc/PID/cgroup has it.
    [[nodiscard]] std::string in_proc(const std::string& below = "") const;

    // Moves the calling process, or with `thread` the calling thread, into the group or one below it.
    void enter(const std::string& below = "", bool thread = false) const;

    // Enters the group, and is where `wanted` says after a restore (empty: in it).
    void enter_and_check(Task& me, std::string wanted = "") const;

    // Where a thread of this process is in this hierarchy; 0 is the caller.
    [[nodiscard]] std::string where(pid_t tid = 0) const;

    // Moves the process to the root, removes the groups given, in this order, and then its own.
    void leave(std::initializer_list<std::string> below = {}) const;

private:
    std::string options_;
    std::string name_;
};

}  // namespace zdtm
