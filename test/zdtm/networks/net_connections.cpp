// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: may-differ isk\.v6only:
#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("IPv4 and IPv6 connections within a private network namespace") {
    zdtm::enter_new_network();
    const zdtm::Connection four = zdtm::tcp_connection(AF_INET);
    const zdtm::Connection six = zdtm::tcp_connection(AF_INET6);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        zdtm::check_flows(four.client, four.server, "from the child");
    });
    me.wait_for_check();
    me.finish(child);
    zdtm::check_flows(four.server, four.client, "there");
    zdtm::check_flows(six.client, six.server, "back");
    // A new connection shows that the network lock is gone.
    const zdtm::Connection fresh = zdtm::tcp_connection(AF_INET);
    zdtm::check_flows(fresh.client, fresh.server, "new connection");
}
