// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 its restore sets a window that the kernel refuses
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: may-differ isk\.v6only:
#include <fcntl.h>
#include <unistd.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
constexpr std::size_t kMost = 1 << 20;
// Bytes beyond the received data: where the last segment with a window update begins, and where the window ends.
constexpr std::uint32_t kUpdate = 1 << 20;
constexpr std::uint32_t kWindow = 4 << 20;
constexpr int kTries = 1000;

class Repair {
public:
    explicit Repair(int fd) : fd_(fd) { zdtm::set_option(fd, IPPROTO_TCP, TCP_REPAIR, 1); }
    ~Repair() { zdtm::set_option(fd_, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP); }
    Repair(const Repair&) = delete;
    Repair& operator=(const Repair&) = delete;

    std::uint32_t received() const {
        zdtm::set_option(fd_, IPPROTO_TCP, TCP_REPAIR_QUEUE, TCP_RECV_QUEUE);
        const auto next = static_cast<std::uint32_t>(zdtm::get_option(fd_, IPPROTO_TCP, TCP_QUEUE_SEQ));
        zdtm::set_option(fd_, IPPROTO_TCP, TCP_REPAIR_QUEUE, TCP_NO_QUEUE);
        return next;
    }
    tcp_repair_window window() const {
        tcp_repair_window found{};
        socklen_t size = sizeof(found);
        SYS(getsockopt(fd_, IPPROTO_TCP, TCP_REPAIR_WINDOW, &found, &size));
        return found;
    }

private:
    int fd_;
};

// Sets what a receiver has after a segment far beyond a lost one: the segment has updated the send window.
void receive_out_of_order(int fd) {
    const Repair repair(fd);
    tcp_repair_window window = repair.window();
    window.snd_wl1 = repair.received() + kUpdate;
    window.rcv_wnd = kWindow;
    SYS(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, sizeof(window)));
}

bool update_is_beyond_window(int fd) {
    const Repair repair(fd);
    const tcp_repair_window window = repair.window();
    return static_cast<std::int32_t>(window.snd_wl1 - repair.received() - window.rcv_wnd) > 0;
}

struct Shrunk {
    zdtm::Connection pair;
    zdtm::Stream sent;
    zdtm::Stream received;
};

// Makes a connection whose receiver ran out of memory. The kernel then offers no window (tcp_select_window()).
Shrunk shrunk(int family, std::uint64_t seed) {
    Shrunk made{zdtm::tcp_connection(family), zdtm::Stream(seed), zdtm::Stream(seed)};
    receive_out_of_order(made.pair.server);
    zdtm::set_option(made.pair.server, SOL_SOCKET, SO_RCVBUF, 1);
    SYS(fcntl(made.pair.client, F_SETFL, O_NONBLOCK));
    for (int tries = 0; !update_is_beyond_window(made.pair.server); ++tries) {
        if (tries == kTries)
            zdtm::skip("the kernel doesn't shrink the window when a receiver has no memory (before Linux 6.6)");
        made.sent.send(made.pair.client, kMost);
        usleep(1000);
    }
    return made;
}

void check_drains(Shrunk& one, const char* what) {
    zdtm::drain(one.pair, one.received, one.sent.at(), what);
    zdtm::check_flows(one.pair.server, one.pair.client, what);
}
}  // namespace

ZDTM("a connection whose receive window the kernel has shrunk below a segment that it has seen") {
    Shrunk four = shrunk(AF_INET, 4);
    Shrunk six = shrunk(AF_INET6, 6);
    me.wait_for_check();

    check_drains(four, "IPv4");
    check_drains(six, "IPv6");
}
