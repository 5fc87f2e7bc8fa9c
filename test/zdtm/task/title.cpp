// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("a command line at another address (PR_SET_MM)") {
    const std::span<std::byte> page = zdtm::map(zdtm::page_size());
    const char title[] = "a quite different title";
    memcpy(page.data(), title, sizeof title);
    const auto begin = reinterpret_cast<unsigned long>(page.data());
    // The kernel requires begin <= end, so the order depends on the direction of the move.
    if (prctl(PR_SET_MM, PR_SET_MM_ARG_END, begin + sizeof title, 0, 0) != 0 && errno == EPERM) {
        zdtm::skip("PR_SET_MM needs CAP_SYS_RESOURCE");
    }
    SYS(prctl(PR_SET_MM, PR_SET_MM_ARG_START, begin, 0, 0));
    SYS(prctl(PR_SET_MM, PR_SET_MM_ARG_END, begin + sizeof title, 0, 0));
    me.wait_for_check();
    CHECK(zdtm::read_file("/proc/self/cmdline") == std::string(title, sizeof title), "now %s",
          zdtm::read_file("/proc/self/cmdline").c_str());
}
