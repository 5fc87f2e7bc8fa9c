// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused thread \d+ .*in a Landlock domain
// zdtm: fails-with-4.2 it loses the domain
#include "landlock.hpp"
#include "threads.hpp"

ZDTM("a dump refuses a process of which one thread entered a Landlock domain as root") {
    zdtm::need_landlock();
    constexpr unsigned kThreads = 200;
    constexpr unsigned kConfined = 150;
    zdtm::Threads threads(
        kThreads,
        [](unsigned index) {
            if (index == kConfined) {
                zdtm::enter_domain(false);
            }
        },
        [](unsigned index) {
            if (index == kConfined) {
                zdtm::check_in_domain();
            }
        });
    threads.wait_arrived();
    me.wait_for_check();
    threads.finish();
}
