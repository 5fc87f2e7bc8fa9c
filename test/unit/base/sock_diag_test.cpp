// SPDX-License-Identifier: GPL-2.0-only
#include <linux/netlink.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/net/sock_diag.hpp"

using namespace criu;
using namespace criu::kernel;

namespace {

/// Reply in the kernel's format.
class Answer {
public:
    explicit Answer(const unix_diag_msg& fixed) { append(&fixed, sizeof(fixed)); }

    Answer& add(std::uint16_t type, const void* value, std::size_t size) {
        const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + size), type};
        append(&header, sizeof(header));
        append(value, size);
        return *this;
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

private:
    void append(const void* data, std::size_t size) {
        const auto* const from = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), from, from + size);
        bytes_.resize(NLA_ALIGN(bytes_.size()));
    }
    std::vector<std::byte> bytes_;
};

unix_diag_msg listening() {
    unix_diag_msg fixed{};
    fixed.udiag_family = AF_UNIX;
    fixed.udiag_type = SOCK_STREAM;
    fixed.udiag_state = 10;
    fixed.udiag_ino = 4711;
    return fixed;
}

std::uint32_t inodeOf(const UniqueFd& fd) {
    struct stat stat {};
    REQUIRE(::fstat(fd.get(), &stat) == 0);
    return static_cast<std::uint32_t>(stat.st_ino);
}

UnixSocketInfo infoOf(const UniqueFd& fd) {
    const auto info = readUnixSocket(inodeOf(fd));
    REQUIRE(info);
    return *info;
}

}  // namespace

TEST_CASE("every attribute of a unix socket is understood") {
    const unix_diag_vfs file{77, 0x800001};
    const unix_diag_rqlen queues{2, 128};
    const std::uint32_t pending[] = {12, 0};
    const std::uint32_t peer = 99;
    const std::uint8_t shutdown = 3;
    const std::uint32_t uid = 1000;
    const UnixSocketInfo info = parseUnixSocket(Answer(listening())
                                                    .add(UNIX_DIAG_NAME, "/run/x", 7)
                                                    .add(UNIX_DIAG_VFS, &file, sizeof(file))
                                                    .add(UNIX_DIAG_PEER, &peer, sizeof(peer))
                                                    .add(UNIX_DIAG_ICONS, pending, sizeof(pending))
                                                    .add(UNIX_DIAG_RQLEN, &queues, sizeof(queues))
                                                    .add(UNIX_DIAG_SHUTDOWN, &shutdown, sizeof(shutdown))
                                                    .add(UNIX_DIAG_UID, &uid, sizeof(uid))
                                                    .add(250, &uid, sizeof(uid))
                                                    .bytes());
    CHECK(info.inode == 4711);
    CHECK(info.type == SOCK_STREAM);
    CHECK(info.state == UnixState::Listen);
    CHECK(info.name == std::string("/run/x", 7));
    REQUIRE(info.file);
    CHECK(info.file->inode == 77);
    CHECK(info.file->device == 0x800001);
    CHECK(info.peer == 99U);
    CHECK(info.pending == std::vector<std::uint32_t>{12, 0});
    CHECK(info.receiveQueue == 2);
    CHECK(info.sendQueue == 128);
    CHECK(info.shutdown == 3);
    CHECK(info.uid == uid_t{1000});
}

TEST_CASE("absent attributes of a unix socket are told from zero ones") {
    const UnixSocketInfo info = parseUnixSocket(Answer(listening()).bytes());
    CHECK(info.name.empty());
    CHECK_FALSE(info.file);
    CHECK_FALSE(info.peer);
    CHECK(info.pending.empty());
    CHECK_FALSE(info.uid);
}

TEST_CASE("answers about unix sockets that are cut short are refused") {
    const std::uint32_t half = 5;
    const Answer answer = Answer(listening()).add(UNIX_DIAG_VFS, &half, sizeof(half));
    CHECK_THROWS_AS(parseUnixSocket(answer.bytes()), Error);
    CHECK_THROWS_AS(parseUnixSocket(answer.bytes().first(sizeof(unix_diag_msg) - 1)), Error);
}

TEST_CASE("the kernel's list has own unix sockets as they are") {
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    const UniqueFd one(pair[0]);
    const UniqueFd other(pair[1]);
    REQUIRE(::write(pair[1], "hello", 5) == 5);
    REQUIRE(::shutdown(pair[0], SHUT_WR) == 0);
    const UnixSocketInfo first = infoOf(one);
    CHECK(first.state == UnixState::Established);
    CHECK(first.peer == inodeOf(other));
    CHECK(first.receiveQueue == 5);
    CHECK(first.shutdown == 2);
    CHECK(infoOf(other).shutdown == 1);

    const UniqueFd server(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un automatic{};
    automatic.sun_family = AF_UNIX;
    REQUIRE(::bind(server.get(), reinterpret_cast<sockaddr*>(&automatic), sizeof(automatic.sun_family)) == 0);
    REQUIRE(::listen(server.get(), 7) == 0);
    socklen_t length = sizeof(automatic);
    REQUIRE(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&automatic), &length) == 0);
    const UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr*>(&automatic), length) == 0);
    const UnixSocketInfo waiting = infoOf(server);
    CHECK(waiting.state == UnixState::Listen);
    CHECK(waiting.sendQueue == 7);
    CHECK(waiting.pending == std::vector<std::uint32_t>{inodeOf(client)});
    CHECK(waiting.name == std::string(automatic.sun_path, length - sizeof(automatic.sun_family)));
    CHECK(infoOf(client).peer.value_or(1) == 0);

    const std::vector<UnixSocketInfo> all = readUnixSockets();
    for (const UniqueFd* fd : {&one, &other, &server, &client})
        CHECK(std::count_if(all.begin(), all.end(), [&](const auto& info) { return info.inode == inodeOf(*fd); }) == 1);
    CHECK_FALSE(readUnixSocket(1));
}
