// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it drops the datagrams
// zdtm: modes once, five
// zdtm: not-in all-killed, dump-killed
#include "inet_sockets.hpp"
#include "zdtm.hpp"

// Other modes dump the program twice: the kernel shows an empty datagram to one peek only.
ZDTM("empty datagrams between others that wait in a UDP socket") {
    const auto [sender, receiver] = zdtm::udp_pair();
    const char* const all[] = {"", "one", "", "", "two", ""};
    for (const char* const text : all)
        CHECK(send(sender, text, strlen(text), 0) == static_cast<ssize_t>(strlen(text)), "%s", strerror(errno));
    me.wait_for_check();
    for (const char* const text : all) {
        char got[16]{};
        const ssize_t size = recv(receiver, got, sizeof got, MSG_DONTWAIT);
        CHECK(size == static_cast<ssize_t>(strlen(text)) && std::string(got) == text, "got %zd: %s", size, got);
    }
    char got = 0;
    CHECK(recv(receiver, &got, 1, MSG_DONTWAIT) < 0, "one more");
}
