// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it drops the datagrams
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a datagram waits in a UDP socket of a private network namespace, which criu locks") {
    zdtm::wait_with_datagram(me);
}
