// SPDX-License-Identifier: GPL-2.0-only
// Children in nested pid namespaces (pid_namespaces(7)).
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

namespace zdtm {

// Does the same as Task::start_child(), with a child that is the init of a new pid namespace. Later children of the
// caller are in its own namespace again.
template <typename Body>
pid_t start_first(Task& parent, Body&& body) {
    const int home = SYS(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
    SYS(unshare(CLONE_NEWPID));
    const pid_t child = parent.start_child([&](Task& task) {
        SYS(close(home));
        std::forward<Body>(body)(task);
    });
    SYS(setns(home, CLONE_NEWPID));
    SYS(close(home));
    return child;
}

// Does the same as start_child(), with a child in the pid namespace of `first`, as nsenter and docker exec do.
template <typename Body>
pid_t start_inside(Task& parent, pid_t first, Body&& body) {
    const int home = SYS(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
    const int there = SYS(static_cast<int>(syscall(SYS_pidfd_open, first, 0)));
    SYS(setns(there, CLONE_NEWPID));
    const pid_t child = parent.start_child([&](Task& task) {
        SYS(close(home));
        SYS(close(there));
        std::forward<Body>(body)(task);
    });
    SYS(setns(home, CLONE_NEWPID));
    SYS(close(home));
    SYS(close(there));
    return child;
}

// Children of the init of a pid namespace: a session leader, its child in a process group of its own, an orphan, and a
// zombie.
class Descendants {
public:
    // Must run in the init.
    explicit Descendants(Task& first);
    [[nodiscard]] pid_t leader() const { return leader_; }
    // Requires all to have their ids, and ends them.
    void finish(Task& first) const;

private:
    pid_t leader_;
    pid_t orphan_;
    pid_t zombie_;
};

}  // namespace zdtm
