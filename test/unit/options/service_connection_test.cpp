// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "image_fixture.hpp"

using Catch::Contains;
using namespace criu;
using namespace criu::service;
using criu::test::errorOf;

namespace {

struct Pair {
    UniqueFd criu;
    UniqueFd client;

    explicit Pair(int type = SOCK_SEQPACKET) {
        int ends[2];
        sys(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), "make a pair of sockets");
        criu.reset(ends[0]);
        client.reset(ends[1]);
    }
};

void put(const UniqueFd& socket, const std::string& bytes) {
    REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

}  // namespace

TEST_CASE("packets of a client are requests, and its end is no request") {
    Pair pair;
    Connection connection(std::move(pair.criu));
    StopRequest stop;
    put(pair.client, "\x08\x0a\x20\x01");  // VERSION, keep_open
    const auto request = connection.receive(stop);
    REQUIRE(request);
    CHECK((*request)->type == CRIU_REQ_TYPE__VERSION);
    CHECK((*request)->keep_open == 1);

    put(pair.client, "\xff\xff");
    CHECK_THAT(errorOf([&] { (void)connection.receive(stop); }), Contains("request"));
    put(pair.client, "\x08\x0a");
    CHECK(connection.receive(stop));  // the invalid message has been removed

    ::shutdown(pair.client.get(), SHUT_WR);
    CHECK_FALSE(connection.receive(stop));
}

TEST_CASE("a request is of a size that a request can have") {
    Pair pair;
    constexpr int kRoom = 4 << 20;
    // Only a process with CAP_NET_ADMIN may exceed the system's limit.
    if (::setsockopt(pair.client.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kRoom, sizeof(kRoom)) != 0) {
        WARN("skipped: packets of more than 1 MiB can't be sent");
        return;
    }
    Connection connection(std::move(pair.criu));
    StopRequest stop;
    put(pair.client, std::string(kLargestRequest + 1, '\x08'));
    CHECK_THAT(errorOf([&] { (void)connection.receive(stop); }), Contains("1048577 bytes"));
    put(pair.client, "\x08\x0a");
    CHECK(connection.receive(stop));
}

TEST_CASE("replies are packets; a reply to a closed connection is an error") {
    Pair pair;
    Connection connection(std::move(pair.criu));
    CriuResp reply = CRIU_RESP__INIT;
    reply.type = CRIU_REQ_TYPE__CHECK;
    reply.success = 1;
    connection.send(reply);
    std::vector<char> bytes(kLargestReply);
    bytes.resize(static_cast<std::size_t>(::recv(pair.client.get(), bytes.data(), bytes.size(), 0)));
    CHECK(bytes == std::vector<char>{8, 3, 16, 1});
    pair.client.reset();
    CHECK_THAT(errorOf([&] { connection.send(reply); }), Contains("Broken pipe"));
}

TEST_CASE("only sockets that keep boundaries of messages carry requests") {
    CHECK_THAT(errorOf([] { Connection(std::move(Pair(SOCK_STREAM).criu)); }), Contains("SOCK_SEQPACKET"));
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const UniqueFd other(ends[1]);
    CHECK_THAT(errorOf([&] { Connection(UniqueFd(ends[0])); }), Contains("is no socket"));
}

TEST_CASE("a message for a client is cut between characters") {
    CHECK(cutToReply("short") == "short");
    const std::string ascii(3000, 'x');
    const std::size_t most = cutToReply(ascii).size();
    CHECK(most < kLargestReply);
    CHECK(most > 900);
    for (std::size_t shift = 0; shift < 3; ++shift) {
        std::string text(shift, 'x');
        while (text.size() < 3000)
            text += "\u20ac";  // three bytes
        const std::string_view cut = cutToReply(text);
        CHECK((cut.size() - shift) % 3 == 0);
        CHECK(cut.size() + 3 > most);
    }
}
