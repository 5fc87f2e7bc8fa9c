// SPDX-License-Identifier: GPL-2.0-only
// Processes of a pid namespace that aren't its own.
#pragma once

#include <sys/types.h>

namespace zdtm {

// A child looks without rest for processes in this pid namespace that are neither this process nor itself, and tries to
// trace those that it finds. So this process must have no other children, and be the first of the namespace.
class StrangerWatch {
public:
    StrangerWatch();

    // Ends the child, which must have found nobody.
    void finish();

private:
    struct Seen;
    pid_t watcher_;
    volatile Seen* seen_;
};

}  // namespace zdtm
