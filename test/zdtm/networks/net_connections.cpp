// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("connections of both IPs within a network namespace of the tree's own") {
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
    // The lock is gone for everybody.
    const zdtm::Connection fresh = zdtm::tcp_connection(AF_INET);
    zdtm::check_flows(fresh.client, fresh.server, "anew");
}
