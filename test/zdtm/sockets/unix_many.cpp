// SPDX-License-Identifier: GPL-2.0-only
#include <sys/resource.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("three thousand sockets: pairs and clients of one server") {
    constexpr int kPairs = 1000;
    constexpr int kClients = 500;
    rlimit limit{};
    SYS(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    SYS(setrlimit(RLIMIT_NOFILE, &limit));
    if (limit.rlim_cur < 4000) {
        zdtm::skip("only %lu files allowed", static_cast<unsigned long>(limit.rlim_cur));
    }
    std::vector<zdtm::Pair> pairs;
    for (int i = 0; i < kPairs; ++i) {
        pairs.push_back(zdtm::make_pair_of(i % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM));
        zdtm::send_message(pairs.back().one, std::to_string(i));
    }
    const auto name = zdtm::Name::abstract("many");
    const int listener = zdtm::listening_socket(SOCK_STREAM, name);
    for (int i = 0; i < kClients; ++i) {
        const int client = zdtm::connected_socket(SOCK_STREAM, name);
        pairs.push_back({client, SYS(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK))});
        zdtm::send_message(client, std::to_string(kPairs + i));
    }
    me.wait_for_check();

    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const zdtm::Message got = zdtm::receive(pairs[i].other);
        CHECK(got == std::to_string(i), "pair %zu: '%s'", i, got.data.c_str());
        zdtm::check_connected(pairs[i].other, pairs[i].one, "back");
    }
}
