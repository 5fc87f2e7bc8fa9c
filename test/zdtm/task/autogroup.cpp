// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't keep it
#include "zdtm.hpp"

namespace {
std::string nice_of_group() {
    const std::string text = zdtm::read_file("/proc/self/autogroup");
    const std::size_t at = text.find("nice");
    return at == std::string::npos ? "" : text.substr(at);
}
}  // namespace

ZDTM("the nice value of a session's autogroup") {
    if (access("/proc/self/autogroup", W_OK) == -1 || nice_of_group().empty()) {
        zdtm::skip("no autogroups");
    }
    zdtm::write_file("/proc/self/autogroup", "7");
    CHECK(nice_of_group() == "nice 7\n", "%s", nice_of_group().c_str());
    me.wait_for_check();
    CHECK(nice_of_group() == "nice 7\n", "%s", nice_of_group().c_str());
}
