// SPDX-License-Identifier: GPL-2.0-only
#include <csetjmp>

#include "zdtm.hpp"

namespace {
zdtm::Task* task = nullptr;
volatile sig_atomic_t depth = 0;
volatile sig_atomic_t deepest = 0;

void inner(int) {
    depth = depth + 1;
    deepest = depth;
    task->wait_for_check();
    depth = depth - 1;
}

void outer(int) {
    depth = depth + 1;
    raise(SIGUSR2);
    depth = depth - 1;
}

double crowd(double x) {
    return x * 1.25 + 3;
}
}  // namespace

ZDTM("nested signal frames return in order and restore the floating-point state") {
    task = &me;
    signal(SIGUSR1, outer);
    signal(SIGUSR2, inner);
    const double before = crowd(7);
    sigjmp_buf way_out;
    if (sigsetjmp(way_out, 1) == 0) {
        raise(SIGUSR1);
        CHECK(depth == 0 && deepest == 2, "depth %d, deepest %d", depth, deepest);
        siglongjmp(way_out, 1);
    }
    CHECK(crowd(7) == before, "floating point broke");
}
