// SPDX-License-Identifier: GPL-2.0-only
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("queued large datagrams and packets, and small ones between them, keep their boundaries") {
    constexpr int kBuffer = 1 << 20;
    constexpr std::size_t kSizes[] = {1, 200'000, 70'000, 3};
    const zdtm::Pair pairs[] = {zdtm::make_pair_of(SOCK_SEQPACKET), zdtm::make_pair_of(SOCK_DGRAM)};
    for (const zdtm::Pair& pair : pairs) {
        SYS(setsockopt(pair.one, SOL_SOCKET, SO_SNDBUFFORCE, &kBuffer, sizeof kBuffer));
        SYS(setsockopt(pair.other, SOL_SOCKET, SO_SNDBUFFORCE, &kBuffer, sizeof kBuffer));
        for (const std::size_t size : kSizes) {
            std::vector<std::byte> data(size);
            zdtm::fill(data, size);
            SYS(send(pair.one, data.data(), size, 0));
        }
    }
    me.wait_for_check();

    for (const zdtm::Pair& pair : pairs) {
        for (const std::size_t size : kSizes) {
            const zdtm::Message got = zdtm::receive(pair.other, 1 << 20);
            CHECK(got.length == static_cast<ssize_t>(size), "%zd bytes, not %zu", got.length, size);
            CHECK(zdtm::first_difference(std::as_bytes(std::span(got.data)), size) < 0, "%zu bytes differ", size);
        }
        CHECK(zdtm::receive(pair.other).length == -1, "more than before");
        int size = 0;
        socklen_t length = sizeof size;
        SYS(getsockopt(pair.one, SOL_SOCKET, SO_SNDBUF, &size, &length));
        CHECK(size == 2 * kBuffer, "the send buffer has %d bytes", size);
    }
}
