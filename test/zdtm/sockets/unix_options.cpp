// SPDX-License-Identifier: GPL-2.0-only
#include <linux/filter.h>
#include <sys/time.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {
template <typename T>
T get(int fd, int option) {
    T value{};
    socklen_t size = sizeof value;
    SYS(getsockopt(fd, SOL_SOCKET, option, &value, &size));
    return value;
}

template <typename T>
void set(int fd, int option, const T& value) {
    SYS(setsockopt(fd, SOL_SOCKET, option, &value, sizeof value));
}
}  // namespace

ZDTM("socket options: buffer sizes, timeouts, priority, mark, flags, filter") {
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_DGRAM);
    const int fd = pair.one;
    set(fd, SO_SNDBUFFORCE, 1 << 22);
    set(fd, SO_RCVBUF, 50'000);
    set(fd, SO_SNDTIMEO, timeval{3, 200'000});
    set(fd, SO_RCVTIMEO, timeval{5, 0});
    set(fd, SO_LINGER, linger{1, 7});
    const struct {
        int option;
        const char* name;
        int value;
    } numbers[] = {{SO_PRIORITY, "SO_PRIORITY", 7},   {SO_MARK, "SO_MARK", 42},
                   {SO_PASSCRED, "SO_PASSCRED", 1},   {SO_RCVLOWAT, "SO_RCVLOWAT", 3},
                   {SO_KEEPALIVE, "SO_KEEPALIVE", 1}, {SO_OOBINLINE, "SO_OOBINLINE", 1},
                   {SO_DONTROUTE, "SO_DONTROUTE", 1}, {SO_BROADCAST, "SO_BROADCAST", 1}};
    for (const auto& number : numbers) {
        set(fd, number.option, number.value);
    }
    // Drops packets that begin with 'd'.
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'd', 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffff)};
    const sock_fprog program{4, code};
    SYS(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
    const int send_size = get<int>(fd, SO_SNDBUF);
    const int receive_size = get<int>(fd, SO_RCVBUF);
    const int other_size = get<int>(pair.other, SO_SNDBUF);
    me.wait_for_check();

    CHECK(get<int>(fd, SO_SNDBUF) == send_size, "%d, not %d", get<int>(fd, SO_SNDBUF), send_size);
    CHECK(get<int>(fd, SO_RCVBUF) == receive_size, "%d, not %d", get<int>(fd, SO_RCVBUF), receive_size);
    CHECK(get<int>(pair.other, SO_SNDBUF) == other_size, "%d, not %d", get<int>(pair.other, SO_SNDBUF), other_size);
    const auto sending = get<timeval>(fd, SO_SNDTIMEO);
    CHECK(sending.tv_sec == 3 && sending.tv_usec == 200'000, "%ld.%06ld", sending.tv_sec, sending.tv_usec);
    CHECK(get<timeval>(fd, SO_RCVTIMEO).tv_sec == 5, "%ld", get<timeval>(fd, SO_RCVTIMEO).tv_sec);
    CHECK(get<linger>(fd, SO_LINGER).l_linger == 7, "%d", get<linger>(fd, SO_LINGER).l_linger);
    for (const auto& number : numbers) {
        CHECK(get<int>(fd, number.option) == number.value, "%s is %d", number.name, get<int>(fd, number.option));
    }
    CHECK(get<int>(pair.other, SO_PASSCRED) == 0, "the other end has got SO_PASSCRED");
    CHECK(send(pair.other, "dropped", 7, 0) == -1 || zdtm::receive(fd).length == -1, "the filter is gone");
    zdtm::check_connected(pair.other, fd, "what the filter lets through");
}
