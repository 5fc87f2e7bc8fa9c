// SPDX-License-Identifier: GPL-2.0-only
#include <sys/epoll.h>

#include "pty.hpp"

ZDTM("an epoll set has both ends of a pseudoterminal") {
    const zdtm::Pty pty = zdtm::open_pty();
    const int slave = zdtm::open_slave(pty);
    zdtm::make_raw(slave);
    const int watch = SYS(epoll_create1(0));
    for (const int fd : {pty.master, slave}) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        SYS(epoll_ctl(watch, EPOLL_CTL_ADD, fd, &event));
    }
    me.wait_for_check();
    epoll_event event{};
    CHECK(SYS(epoll_wait(watch, &event, 1, 0)) == 0, "an event at %d", event.data.fd);
    for (const int from : {pty.master, slave}) {
        const int to = from == slave ? pty.master : slave;
        zdtm::write_text(from, "x");
        CHECK(SYS(epoll_wait(watch, &event, 1, 5000)) == 1 && event.data.fd == to, "event at %d", event.data.fd);
        CHECK(zdtm::read_now(to) == "x", "other bytes than those written");
    }
}
