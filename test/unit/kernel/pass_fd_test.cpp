// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/pass_fd.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <utility>

namespace criu::kernel {
namespace {

std::pair<UniqueFd, UniqueFd> connected() {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void sendTwoDescriptors(int socket) {
    char byte = 0;
    iovec content{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &content;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
    const int both[2] = {socket, socket};
    std::memcpy(CMSG_DATA(rights), both, sizeof(both));
    REQUIRE(::sendmsg(socket, &header, 0) == 1);
}

/// Returns the number that the next new descriptor gets.
int nextNumber() {
    return UniqueFd(::open("/", O_PATH | O_CLOEXEC)).get();
}

}  // namespace

TEST_CASE("of several descriptors in one message, only the first one is taken") {
    const auto [here, there] = connected();
    sendTwoDescriptors(there.get());
    const int first = nextNumber();
    std::array<std::byte, 8> bytes{};
    ReceivedMessage got = receiveMessage(here.get(), bytes);
    CHECK(got.size == 1);
    CHECK(got.fd.get() == first);
    CHECK(got.lost);
    got.fd.reset();
    CHECK(nextNumber() == first);
}

TEST_CASE("a message is taken without waiting") {
    auto [here, there] = connected();
    std::array<std::byte, 8> bytes{};
    CHECK(takeMessage(here.get(), bytes).size == 0);
    sendMessage(there.get(), std::span(bytes).first(3), here.get());
    ReceivedMessage got = takeMessage(here.get(), bytes);
    CHECK(got.size == 3);
    CHECK(got.fd);
    CHECK_FALSE(got.lost);
    there.reset();
    CHECK(takeMessage(here.get(), bytes).size == 0);
}

}  // namespace criu::kernel
