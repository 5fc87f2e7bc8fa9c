// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("connections that are not accepted keep their order, up to the backlog") {
    constexpr int kBacklog = 2;
    const auto name = zdtm::Name::path("listener");
    const int listener = zdtm::listening_socket(SOCK_STREAM, name, kBacklog);
    std::vector<int> clients;
    for (int i = 0; i <= kBacklog; ++i) {
        clients.push_back(zdtm::connected_socket(SOCK_STREAM, name));
    }
    me.wait_for_check();

    const int late = SYS(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    CHECK(connect(late, name.get(), name.length) == -1 && errno == EAGAIN, "the backlog has grown");
    for (std::size_t i = 0; i < clients.size(); ++i) {
        zdtm::send_message(clients[i], "client " + std::to_string(i));
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        const int accepted = SYS(accept(listener, nullptr, nullptr));
        const zdtm::Message got = zdtm::receive(accepted);
        CHECK(got == "client " + std::to_string(i), "%zu: '%s'", i, got.data.c_str());
        zdtm::check_connected(accepted, clients[i], "back");
    }
    CHECK(accept(listener, nullptr, nullptr) == -1 && errno == EAGAIN, "more than before");
    SYS(connect(late, name.get(), name.length));
}
