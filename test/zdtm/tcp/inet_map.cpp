// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five
// zdtm: network own
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established --inet-map 127.0.0.4/31=127.0.0.8/31
// zdtm: ignore fd \d+ (getpeername|getsockname)
// zdtm: fails-with-4.2 it has no --inet-map
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "zdtm.hpp"

namespace {

sockaddr_in address_of(const char* text, std::uint16_t port = 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

int bound(int type, const char* text) {
    const int made = SYS(socket(AF_INET, type, 0));
    const sockaddr_in address = address_of(text);
    SYS(bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    return made;
}

sockaddr_in local(int fd) {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    SYS(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size));
    return address;
}

std::string text_of(const sockaddr_in& address) {
    char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
}

}  // namespace

ZDTM("--inet-map restores listening, connected and datagram sockets under another address") {
    const int listening = bound(SOCK_STREAM, "127.0.0.5");
    SYS(listen(listening, 5));
    const int other = bound(SOCK_STREAM, "127.0.0.7");
    SYS(listen(other, 5));
    const int client = bound(SOCK_STREAM, "127.0.0.4");
    sockaddr_in to = local(listening);
    SYS(connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof(to)));
    const int server = SYS(accept(listening, nullptr, nullptr));
    SYS(write(client, "before", 6));
    const int datagrams = bound(SOCK_DGRAM, "127.0.0.5");
    me.wait_for_check();

    char text[16] = {};
    CHECK(read(server, text, sizeof(text)) == 6 && std::string(text) == "before", "'%s'", text);
    CHECK(write(server, "after", 5) == 5, "%s", strerror(errno));
    CHECK(read(client, text, sizeof(text)) == 5 && std::string(text) == "aftere", "'%s'", text);
    CHECK(text_of(local(client)) == "127.0.0.8", "%s", text_of(local(client)).c_str());
    CHECK(text_of(local(server)) == "127.0.0.9", "%s", text_of(local(server)).c_str());
    CHECK(text_of(local(listening)) == "127.0.0.9", "%s", text_of(local(listening)).c_str());
    CHECK(text_of(local(datagrams)) == "127.0.0.9", "%s", text_of(local(datagrams)).c_str());
    CHECK(text_of(local(other)) == "127.0.0.7", "%s", text_of(local(other)).c_str());
    const int second = SYS(socket(AF_INET, SOCK_STREAM, 0));
    to = local(listening);
    SYS(connect(second, reinterpret_cast<const sockaddr*>(&to), sizeof(to)));
    SYS(accept(listening, nullptr, nullptr));
}
