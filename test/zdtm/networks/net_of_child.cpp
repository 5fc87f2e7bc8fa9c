// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the first process is in the network namespace of criu, and others aren't
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
#include <optional>

#include "inet_sockets.hpp"
#include "network.hpp"
#include "user_spaces.hpp"
#include "zdtm.hpp"

namespace {

// A connection, and an address of the namespace.
struct Content {
    explicit Content(int number) {
        zdtm::output_of("ip addr add 10.77." + std::to_string(number) + ".1/32 dev lo");
        sights.emplace(std::vector<std::string>{"ip -o addr show dev lo", "ip -o link"});
        pair = zdtm::tcp_connection(AF_INET);
    }
    void check() const {
        sights->check();
        zdtm::check_flows(pair.client, pair.server, "there");
        zdtm::check_flows(pair.server, pair.client, "back");
        const zdtm::Connection fresh = zdtm::tcp_connection(AF_INET);
        zdtm::check_flows(fresh.client, fresh.server, "new connection");
    }

    std::optional<zdtm::Sights> sights;
    zdtm::Connection pair{};
};

}  // namespace

ZDTM("children in private network namespaces, one of them a user's, and a parent in criu's") {
    const zdtm::Connection here = zdtm::tcp_connection(AF_INET);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        zdtm::enter_new_network();
        const Content content(1);
        task.wait_for_check();
        content.check();
        zdtm::check_flows(here.client, here.server, "of the parent");
    });
    const pid_t user = me.start_child([](zdtm::Task& task) {
        SYS(setresgid(1000, 1000, 1000));
        SYS(setresuid(1000, 1000, 1000));
        zdtm::become_root_inside();
        zdtm::enter_new_network();
        const Content content(2);
        task.wait_for_check();
        content.check();
        zdtm::output_of("ip addr add 10.77.3.1/32 dev lo");  // root of the user namespace may configure it
    });
    me.wait_for_check();
    zdtm::check_flows(here.server, here.client, "here");
    me.finish(child);
    me.finish(user);
}
