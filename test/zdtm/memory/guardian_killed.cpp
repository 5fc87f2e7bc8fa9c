// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes guardian-killed, group-killed
#include "zdtm.hpp"

ZDTM("a dump of much memory ends when the guardian process is killed") {
    const auto memory = zdtm::map(std::size_t{256} << 20);
    zdtm::fill(memory, 5);
    me.wait_for_check();
    CHECK(zdtm::first_difference(memory, 5) == -1, "changed at %zd", zdtm::first_difference(memory, 5));
}
