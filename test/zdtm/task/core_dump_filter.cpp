// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it does not keep the filter
#include "zdtm.hpp"

ZDTM("the core dump filter") {
    zdtm::write_file("/proc/self/coredump_filter", "0x21");
    me.wait_for_check();
    const std::string filter = zdtm::read_file("/proc/self/coredump_filter");
    CHECK(std::stoul(filter, nullptr, 16) == 0x21, "filter %s", filter.c_str());
}
