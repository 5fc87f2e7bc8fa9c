// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes undone,rescued
// zdtm: dump-options --tcp-established --link-remap
#include <fcntl.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a failed dump unlocks connections and removes its temporary links") {
    const zdtm::Connection pair = zdtm::tcp_connection(AF_INET);
    zdtm::write_file("name", "content");
    const int linked = SYS(open("name", O_RDWR));
    SYS(link("name", "other"));
    SYS(unlink("name"));
    me.wait_for_check();

    zdtm::check_flows(pair.client, pair.server, "client to server");
    zdtm::check_flows(pair.server, pair.client, "server to client");
    CHECK(pwrite(linked, "C", 1, 0) == 1 && zdtm::read_file("other") == "Content", "%s",
          zdtm::read_file("other").c_str());
}
