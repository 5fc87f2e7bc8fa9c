// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("oom_score_adj") {
    // Raises the value only: lowering it needs CAP_SYS_RESOURCE.
    zdtm::write_file("/proc/self/oom_score_adj", "300");
    const pid_t child = me.start_child([](zdtm::Task& task) {
        zdtm::write_file("/proc/self/oom_score_adj", "777");
        task.wait_for_check();
        CHECK(zdtm::read_file("/proc/self/oom_score_adj") == "777\n", "now %s",
              zdtm::read_file("/proc/self/oom_score_adj").c_str());
    });
    me.wait_for_check();
    CHECK(zdtm::read_file("/proc/self/oom_score_adj") == "300\n", "now %s",
          zdtm::read_file("/proc/self/oom_score_adj").c_str());
    me.finish(child);
}
