// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd 3 of pid \d+ .*1 connections.*--skip-in-flight
// zdtm: fails-with-4.2 its message names no pid
#include <fcntl.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a connection that is not accepted") {
    const int listener = zdtm::tcp_listener(AF_INET);
    const int client = zdtm::tcp_connected(zdtm::Inet::of(listener));
    SYS(fcntl(client, F_SETFD, 0));
    me.wait_for_check();
    zdtm::check_flows(client, SYS(accept(listener, nullptr, nullptr)), "the connection");
}
