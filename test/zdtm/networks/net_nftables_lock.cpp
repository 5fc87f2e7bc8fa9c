// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established --network-lock nftables
// zdtm: restore-options --tcp-established
#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("nftables rules lock a network namespace from the dump until the restore") {
    zdtm::enter_new_network();
    const zdtm::Connection pair = zdtm::tcp_connection(AF_INET);
    const std::string rules = zdtm::output_of("nft list ruleset");
    me.wait_for_check();
    const std::string now = zdtm::output_of("nft list ruleset");
    CHECK(now == rules, "the rules are now\n%s", now.c_str());
    zdtm::check_flows(pair.client, pair.server, "there");
}
