// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused sockets are in flight in each other's queues more than 64 levels deep
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses sockets in flight in each other's queues, a thousand levels deep") {
    zdtm::Pair outer = zdtm::make_pair_of(SOCK_DGRAM);
    zdtm::send_message(outer.one, "innermost");
    SYS(close(outer.one));
    constexpr int kLevels = 1000;
    for (int level = 1; level < kLevels; ++level) {
        const zdtm::Pair next = zdtm::make_pair_of(SOCK_DGRAM);
        if (!zdtm::try_send_message(next.one, "x", {outer.other})) {
            // Linux before 6.10 allows a nesting depth of four.
            if (errno == ETOOMANYREFS) {
                zdtm::skip("this kernel limits how deep sockets may be in flight");
            }
            SYS(-1);
        }
        SYS(close(next.one));
        SYS(close(outer.other));
        outer.other = next.other;
    }
    me.wait_for_check();

    for (int level = 1; level < kLevels; ++level) {
        const zdtm::Message got = zdtm::receive(outer.other);
        CHECK(got.descriptors.size() == 1, "level %d has %zu descriptors", level, got.descriptors.size());
        SYS(close(outer.other));
        outer.other = got.descriptors[0];
    }
    const zdtm::Message last = zdtm::receive(outer.other);
    CHECK(last == "innermost", "'%s'", last.data.c_str());
}
