// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established --network-lock nftables
// zdtm: restore-options --tcp-established
// zdtm: may-differ isk\.v6only:
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("nftables rules lock IPv4 and IPv6 connections from the dump until the restore") {
    const zdtm::Connection four = zdtm::tcp_connection(AF_INET);
    const zdtm::Connection six = zdtm::tcp_connection(AF_INET6);
    me.wait_for_check();
    for (const zdtm::Connection& pair : {four, six}) {
        zdtm::check_flows(pair.client, pair.server, "there");
        zdtm::check_flows(pair.server, pair.client, "back");
    }
}
