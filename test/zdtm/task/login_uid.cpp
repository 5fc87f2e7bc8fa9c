// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("the login uid") {
    if (access("/proc/self/loginuid", W_OK) != 0) {
        zdtm::skip("the kernel has no login uids (CONFIG_AUDIT)");
    }
    zdtm::write_file("/proc/self/loginuid", "1234");
    me.wait_for_check();
    CHECK(zdtm::read_file("/proc/self/loginuid") == "1234", "now %s", zdtm::read_file("/proc/self/loginuid").c_str());
}
