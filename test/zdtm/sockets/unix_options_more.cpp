// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't carry these
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("socket options SO_PEEK_OFF, SO_TIMESTAMP, SO_PASSPIDFD, SO_LOCK_FILTER, SO_REUSEADDR") {
    constexpr int kPassPidFd = 76;
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    const struct {
        int option;
        const char* name;
        int value;
    } numbers[] = {{SO_PEEK_OFF, "SO_PEEK_OFF", 2},
                   {SO_TIMESTAMP, "SO_TIMESTAMP", 1},
                   {kPassPidFd, "SO_PASSPIDFD", 1},
                   {SO_LOCK_FILTER, "SO_LOCK_FILTER", 1},
                   {SO_REUSEADDR, "SO_REUSEADDR", 1}};
    for (const auto& number : numbers) {
        if (setsockopt(pair.one, SOL_SOCKET, number.option, &number.value, sizeof number.value) == -1) {
            zdtm::skip("%s: %s", number.name, strerror(errno));
        }
    }
    zdtm::send_message(pair.other, "abcd");
    me.wait_for_check();

    for (const auto& number : numbers) {
        int value = 0;
        socklen_t size = sizeof value;
        SYS(getsockopt(pair.one, SOL_SOCKET, number.option, &value, &size));
        CHECK(value == number.value, "%s is %d", number.name, value);
    }
    char byte = 0;
    CHECK(recv(pair.one, &byte, 1, MSG_PEEK) == 1 && byte == 'c', "looked at '%c'", byte);
    CHECK(recv(pair.one, &byte, 1, 0) == 1 && byte == 'a', "read '%c'", byte);
}
