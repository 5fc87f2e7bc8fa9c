// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it drops the datagrams
// zdtm: own-users yes
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a datagram waits in a UDP socket of a network namespace that belongs to a user namespace") {
    zdtm::wait_with_datagram(me);
}
