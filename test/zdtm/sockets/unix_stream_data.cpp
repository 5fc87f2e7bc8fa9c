// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/ioctl.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a stream pair keeps unread data of both directions, in any amount, and O_NONBLOCK of each end") {
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    SYS(fcntl(pair.other, F_SETFL, 0));
    std::vector<std::byte> out(150'000);
    zdtm::fill(out, 5);
    SYS(write(pair.one, out.data(), out.size()));
    zdtm::send_message(pair.other, "back");
    me.wait_for_check();

    CHECK((fcntl(pair.one, F_GETFL) & O_NONBLOCK) != 0, "one end blocks");
    CHECK((fcntl(pair.other, F_GETFL) & O_NONBLOCK) == 0, "the other end doesn't block");
    int waiting = 0;
    SYS(ioctl(pair.other, FIONREAD, &waiting));
    CHECK(waiting == static_cast<int>(out.size()), "%d bytes wait", waiting);
    std::vector<std::byte> in(out.size());
    CHECK(recv(pair.other, in.data(), in.size(), MSG_WAITALL) == static_cast<ssize_t>(in.size()), "too little");
    CHECK(zdtm::first_difference(in, 5) < 0, "byte %zd changed", zdtm::first_difference(in, 5));
    CHECK(zdtm::receive(pair.one) == "back", "the way back lost its data");
    CHECK(zdtm::receive(pair.other).length == -1 && errno == EAGAIN, "more than before");
    zdtm::check_connected(pair.one, pair.other, "one to other");
    zdtm::check_connected(pair.other, pair.one, "other to one");
}
