// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also restore-killed
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: outside echo
// zdtm: may-differ tcp-stream: (inq|outq|unsq|content), option 6
#include <fcntl.h>
#include <poll.h>

#include "inet_sockets.hpp"
#include "patience.hpp"
#include "zdtm.hpp"

namespace {
// Sends and receives while `on` returns true, then receives the rest.
template <typename On>
void talk(int fd, zdtm::Stream& out, zdtm::Stream& in, On&& on) {
    bool sends = true;
    while ((sends = sends && on()) || in.at() < out.at()) {
        // Limits the bytes in flight to a few hundred kilobytes, so the end comes soon.
        const bool more = sends && out.at() - in.at() < 300'000;
        pollfd wait{fd, static_cast<short>(POLLIN | (more ? POLLOUT : 0)), 0};
        CHECK(poll(&wait, 1, zdtm::kPatience) != 0, "nothing comes back from byte %llu of %llu on: %s",
              static_cast<unsigned long long>(in.at()), static_cast<unsigned long long>(out.at()),
              zdtm::tcp_condition(fd).c_str());
        if ((wait.revents & POLLOUT) != 0 && out.send(fd, 10'000) < 0) {
            CHECK(errno == EAGAIN || errno == EINTR, "send: %s", strerror(errno));
        }
        if ((wait.revents & POLLIN) != 0) {
            const ssize_t got = in.receive(fd, 16384);
            CHECK(got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)), "the connection ends: %s",
                  got == 0 ? "closed" : strerror(errno));
        }
        CHECK((wait.revents & (POLLERR | POLLHUP)) == 0, "the connection breaks (%#x)", wait.revents);
    }
}
}  // namespace

ZDTM("a stream to a server outside of the tree, and back, continues over dumps and restores") {
    const char* const port = getenv("ZDTM_ECHO");
    CHECK(port != nullptr, "no server outside");
    const int fd =
        zdtm::tcp_connected(zdtm::Inet::loopback(AF_INET, static_cast<std::uint16_t>(strtoul(port, nullptr, 10))));
    SYS(fcntl(fd, F_SETFL, O_NONBLOCK));
    zdtm::Stream out(3);
    zdtm::Stream in(3);
    talk(fd, out, in, [&] { return out.at() < 1'000'000; });
    me.ready();
    talk(fd, out, in, [&] { return !me.triggered(); });
    talk(fd, out, in, [&, end = out.at() + 1'000'000] { return out.at() < end; });
    // The connection ends with this process. A later restore of an earlier dump would find no peer.
    zdtm::write_file("ended", "");
}
