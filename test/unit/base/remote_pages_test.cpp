// SPDX-License-Identifier: GPL-2.0-only
#include <sys/socket.h>
#include <catch2/catch.hpp>

#include <string>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/memory/pages/remote_page_sinks.hpp"

using namespace criu;
using namespace criu::memory;

namespace {

constexpr MemoryObject kRemoteObject{MemoryObject::Kind::Process, 7};
constexpr std::chrono::seconds kPatience{10};

/// A sender and the other end of its connection.
struct TestConnection {
    TestConnection() {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        server.emplace(UniqueFd(ends[0]), stop, kPatience);
        sinks.emplace(PageConnection(UniqueFd(ends[1]), stop, kPatience), false);
    }
    PageMessage next() {
        PageMessage message;
        REQUIRE(server->receive(std::as_writable_bytes(std::span(&message, 1))));
        return message;
    }
    template <typename Number>
    void answer(Number number) {
        server->send(std::as_bytes(std::span(&number, 1)));
    }

    StopRequest stop;
    std::optional<PageConnection> server;
    std::optional<RemotePageSinks> sinks;
};

std::vector<std::byte> page(char content) {
    return std::vector<std::byte>(kImagePageSize, static_cast<std::byte>(content));
}

}  // namespace

TEST_CASE("objects have numbers of 4.2 in messages, and older senders' are known", "[pages]") {
    CHECK(objectNumber(MemoryObject{MemoryObject::Kind::Process, 5}) == 0x501);
    CHECK(objectNumber(MemoryObject{MemoryObject::Kind::Shared, 5}) == 0x502);
    CHECK(objectOf(0x501) == MemoryObject{MemoryObject::Kind::Process, 5});
    CHECK(objectOf(0x50b) == MemoryObject{MemoryObject::Kind::Process, 5});
    CHECK(objectOf(0x520) == MemoryObject{MemoryObject::Kind::Shared, 5});
    CHECK_FALSE(objectOf(0x503));
}

TEST_CASE("pages are sent in order of addresses whatever the order of blocks", "[pages]") {
    TestConnection connection;
    connection.answer(std::uint8_t{1});
    const auto sink = connection.sinks->open(kRemoteObject, 0);
    CHECK(connection.next().word == wordOf(PageCommand::OpenAndTell));
    const PageRun runs[] = {{0x1000, 0x1000, PageFlags::Parent},
                            {0x2000, 0x1000, PageFlags::Present},
                            {0x8000, 0x1000, PageFlags::Present | PageFlags::Lazy},
                            {0x9000, 0x2000, PageFlags::Parent}};
    CHECK(sink->add(runs) == 0);
    const auto first = page('1');
    const auto second = page('2');
    const kernel::RemoteRange ranges[] = {{0x2000, 0x1000}, {0x8000, 0x1000}};
    std::thread early([&] { sink->write({0x1000, std::span(&ranges[1], 1), second}); });
    sink->write({0, std::span(&ranges[0], 1), first});
    early.join();
    sink->finish();

    std::vector<std::byte> got(kImagePageSize);
    CHECK(connection.next().word == wordOf(PageCommand::AddFlagged, PageFlags::Parent));
    PageMessage message = connection.next();
    CHECK((message.address == 0x2000 && message.flags() == 4 && message.pages == 1));
    REQUIRE(connection.server->receive(got));
    CHECK(got == first);
    message = connection.next();
    CHECK((message.address == 0x8000 && message.flags() == 6 && message.object == 0x701));
    REQUIRE(connection.server->receive(got));
    CHECK(got == second);
    message = connection.next();
    CHECK((message.address == 0x9000 && message.flags() == 1 && message.pages == 2));
}

TEST_CASE("a block doesn't wait for one that won't come", "[pages]") {
    TestConnection connection;
    connection.answer(std::uint8_t{0});
    const auto sink = connection.sinks->open(kRemoteObject, 0);
    const PageRun run{0x1000, 0x2000, PageFlags::Present};
    (void)sink->add(std::span(&run, 1));
    const kernel::RemoteRange range{0x2000, 0x1000};
    const auto content = page('x');
    bool failed = false;
    std::thread waiting([&] {
        try {
            sink->write({0x1000, std::span(&range, 1), content});
        } catch (const Error&) {
            failed = true;
        }
    });
    sink->abandon();
    waiting.join();
    CHECK(failed);
}

TEST_CASE("a server that couldn't store pages, or has gone, fails the dump", "[pages]") {
    TestConnection connection;
    connection.answer(std::int32_t{-1});
    CHECK_THROWS_AS(connection.sinks->finish(), Error);
    connection.server.reset();
    CHECK_THROWS_AS(connection.sinks->finish(), Error);
    CHECK_THROWS_AS(connection.sinks->open(kRemoteObject, 0), Error);
}
