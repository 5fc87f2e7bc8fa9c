// SPDX-License-Identifier: GPL-2.0-only
#include <cmath>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
// Computes a sum that depends on every step. The compiler may vectorise it.
double work(unsigned seed) {
    double values[64];
    for (unsigned i = 0; i < 64; ++i) {
        values[i] = 1.0 + seed + i;
    }
    double sum = 0;
    for (int round = 0; round < 2000; ++round) {
        for (double& value : values) {
            value = std::sqrt(value * 1.5 + sum * 1e-9);
            sum += value;
        }
    }
    return sum;
}
}  // namespace

ZDTM("threads that compute all the time get correct results") {
    zdtm::Threads threads(4, [](unsigned index, zdtm::Threads& all) {
        const double expected = work(index);
        all.arrive();
        while (all.released() == 0) {
            const double got = work(index);
            CHECK(got == expected, "%.17g instead of %.17g", got, expected);
        }
    });
    me.wait_for_check();
    threads.finish();
}
