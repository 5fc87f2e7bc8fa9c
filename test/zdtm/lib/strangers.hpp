// SPDX-License-Identifier: GPL-2.0-only
// Search for processes of criu in the pid namespace of a test.
#pragma once

#include <sys/types.h>

namespace zdtm {

// Starts a child that searches this pid namespace all the time for other processes than itself and its parent, and
// tries to ptrace them. So the calling process must be the namespace's init and have no other children.
class StrangerWatch {
public:
    StrangerWatch();

    // Ends the child, which must have found no process.
    void finish();

private:
    struct Seen;
    pid_t watcher_;
    volatile Seen* seen_;
};

}  // namespace zdtm
