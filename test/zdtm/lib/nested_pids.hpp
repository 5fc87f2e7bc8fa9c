// SPDX-License-Identifier: GPL-2.0-only
// Children in pid namespaces of their own (pid_namespaces(7)).
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

namespace zdtm {

// As Task::start_child(), but the child is the first process of a new pid namespace, to which this process has no other
// relation afterwards.
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

// As start_child(), but the child is born into the namespace of `first`, which is there already (nsenter, docker exec).
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

// Children of the first process of a pid namespace: the leader of a session, with a child in a process group of its
// own, an orphan of somebody else's, and a zombie.
class Descendants {
public:
    // By that process.
    explicit Descendants(Task& first);
    [[nodiscard]] pid_t leader() const { return leader_; }
    // All are called as they were, and end.
    void finish(Task& first) const;

private:
    pid_t leader_;
    pid_t orphan_;
    pid_t zombie_;
};

}  // namespace zdtm
