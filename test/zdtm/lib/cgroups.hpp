// SPDX-License-Identifier: GPL-2.0-only
// Cgroups of a test, in a hierarchy that is mounted on /mnt. The program has a private mount namespace, so the mount
// stays.
#pragma once

#include <string>

namespace zdtm {

class Task;

class Cgroups {
public:
    // Mounts the hierarchy and makes a group for this program. `options` are the mount options, for example "freezer"
    // or "none,name=test"; empty for version 2. Writes the path of the group to the file "group" in the working
    // directory. Skips the test if the kernel lacks the hierarchy.
    explicit Cgroups(const std::string& options);

    // Returns the path of the group, or of one below it, which it creates if needed.
    std::string make(const std::string& below = "") const;

    // Returns the group's name as in /proc/PID/cgroup.
    [[nodiscard]] std::string in_proc(const std::string& below = "") const;

    // Moves the calling process, or with `thread` the calling thread, into the group or one below it.
    void enter(const std::string& below = "", bool thread = false) const;

    // Enters the group, waits for the check, and requires the group `wanted` (empty: the same group).
    void enter_and_check(Task& me, std::string wanted = "") const;

    // Returns the group of a thread of this process in this hierarchy. 0 stands for the caller.
    [[nodiscard]] std::string where(pid_t tid = 0) const;

    // Moves the process to the root group, and removes the groups `below` in this order and then the test's group.
    void leave(std::initializer_list<std::string> below = {}) const;

private:
    std::string options_;
    std::string name_;
};

}  // namespace zdtm
