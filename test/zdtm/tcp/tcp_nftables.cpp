// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established --network-lock nftables
// zdtm: restore-options --tcp-established
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("connections of both IPs are locked by nftables meanwhile, and not afterwards") {
    const zdtm::Connection four = zdtm::tcp_connection(AF_INET);
    const zdtm::Connection six = zdtm::tcp_connection(AF_INET6);
    me.wait_for_check();
    for (const zdtm::Connection& pair : {four, six}) {
        zdtm::check_flows(pair.client, pair.server, "there");
        zdtm::check_flows(pair.server, pair.client, "back");
    }
}
