// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established --network-lock nftables
// zdtm: restore-options --tcp-established
// zdtm: modes once, five, leave-running, to-other
#include <sys/resource.h>

#include <vector>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a thousand connections") {
    constexpr std::size_t kCount = 1000;
    rlimit limit{};
    SYS(getrlimit(RLIMIT_NOFILE, &limit));
    if (limit.rlim_max < 2 * kCount + 100) {
        zdtm::skip("only %lu descriptors are allowed", static_cast<unsigned long>(limit.rlim_max));
    }
    limit.rlim_cur = limit.rlim_max;
    SYS(setrlimit(RLIMIT_NOFILE, &limit));
    const int listener = zdtm::tcp_listener(AF_INET, 100);
    const zdtm::Inet where = zdtm::Inet::of(listener);
    std::vector<zdtm::Connection> all(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
        all[i].client = zdtm::tcp_connected(where);
        all[i].server = SYS(accept(listener, nullptr, nullptr));
        SYS(send(all[i].client, &i, sizeof i, 0));
    }
    me.wait_for_check();
    for (std::size_t i = 0; i < kCount; ++i) {
        std::size_t value = kCount;
        CHECK(recv(all[i].server, &value, sizeof value, MSG_DONTWAIT) == sizeof value && value == i,
              "connection %zu has %zu", i, value);
        zdtm::check_flows(all[i].server, all[i].client, "back");
    }
}
