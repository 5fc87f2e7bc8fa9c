// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established --network-lock nftables
// zdtm: restore-options --tcp-established
// zdtm: outside echo
// zdtm: modes lock-gone
#include <fcntl.h>
#include <poll.h>

#include <cstring>
#include <vector>

#include "inet_sockets.hpp"
#include "patience.hpp"
#include "zdtm.hpp"

namespace {
void expect(int fd, char wanted) {
    pollfd wait{fd, POLLIN, 0};
    CHECK(poll(&wait, 1, zdtm::kPatience) == 1, "'%c' doesn't come", wanted);
    char got = 0;
    CHECK(recv(fd, &got, 1, 0) == 1, "the connection is gone: %s", strerror(errno));
    CHECK(got == wanted, "'%c' came instead of '%c'", got, wanted);
}
}  // namespace

ZDTM(
    "a restore locks the network itself if the lock of the dump is gone: a packet of the peer doesn't reset the "
    "connection") {
    if (system("nft --version > nft") != 0) {
        zdtm::skip("no nft");
    }
    const char* const port = getenv("ZDTM_ECHO");
    CHECK(port != nullptr, "no server outside");
    const int fd =
        zdtm::tcp_connected(zdtm::Inet::loopback(AF_INET, static_cast<std::uint16_t>(strtoul(port, nullptr, 10))));
    SYS(send(fd, "a", 1, 0));
    expect(fd, 'a');
    SYS(open("data", O_CREAT | O_RDWR, 0600));
    // The restore of this memory takes time and comes before the sockets.
    std::vector<std::uint64_t> memory(std::size_t{40} << 20);
    for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = i;
    }
    me.wait_for_check();
    CHECK(memory[12345] == 12345, "the memory is wrong");
    expect(fd, 'x');  // the server sent this while there was no socket
    SYS(send(fd, "y", 1, 0));
    expect(fd, 'y');
}
