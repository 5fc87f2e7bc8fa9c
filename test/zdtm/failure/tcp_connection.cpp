// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*pid \d+\b)(?=.*fd [34]\b)
// zdtm: fails-with-4.2 its message names no pid
#include <arpa/inet.h>
#include <sys/socket.h>

#include "zdtm.hpp"

ZDTM("a TCP connection is refused by descriptor and pid") {
    const int listener = SYS(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    SYS(bind(listener, reinterpret_cast<const sockaddr*>(&address), length));
    SYS(listen(listener, 1));
    SYS(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length));
    const int client = SYS(socket(AF_INET, SOCK_STREAM, 0));
    if (connect(client, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
        zdtm::skip("connect to 127.0.0.1: %s", strerror(errno));
    }
    const int server = SYS(accept(listener, nullptr, nullptr));
    SYS(close(listener));
    me.wait_for_check();
    char byte = 0;
    CHECK(write(client, "x", 1) == 1 && read(server, &byte, 1) == 1 && byte == 'x', "the connection broke: %s",
          strerror(errno));
}
