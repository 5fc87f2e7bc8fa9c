// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*out-of-band
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an unread out-of-band byte") {
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    zdtm::send_message(pair.one, "x");
    if (send(pair.one, "!", 1, MSG_OOB) == -1) {
        zdtm::skip("no out-of-band data here: %s", strerror(errno));
    }
    me.wait_for_check();

    char byte = 0;
    CHECK(recv(pair.other, &byte, 1, MSG_OOB) == 1 && byte == '!', "got '%c'", byte);
}
