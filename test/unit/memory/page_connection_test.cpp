// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_connection.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "image_fixture.hpp"

using Catch::Contains;
using namespace criu;
using namespace criu::memory;
using namespace std::chrono_literals;
using criu::test::errorOf;

namespace {

/// One end of a connection, and a socket at the other end, which the test controls.
struct Ends {
    explicit Ends(std::chrono::seconds patience) {
        int ends[2];
        sys(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "make a pair of sockets");
        own.emplace(UniqueFd(ends[0]), stop, patience);
        other.reset(ends[1]);
    }

    StopRequest stop;
    std::optional<PageConnection> own;
    UniqueFd other;
};

/// Returns more than any socket buffer holds.
std::vector<std::byte> muchContent() {
    return std::vector<std::byte>(std::size_t{64} << 20);
}

/// Requests a stop of the process when it waits or is about to.
class LateStop {
public:
    LateStop()
        : thread_([] {
              std::this_thread::sleep_for(50ms);
              ::kill(::getpid(), SIGTERM);
          }) {}
    ~LateStop() { thread_.join(); }

private:
    std::thread thread_;
};

}  // namespace

TEST_CASE("a page server that accepts a connection and is silent fails the dump in time", "[pages]") {
    Ends ends(1s);
    CHECK_THAT(errorOf([&] { (void)ends.own->receiveNumber<std::int32_t>(); }), Contains("--timeout"));
    SECTION("also in the middle of an answer") {
        REQUIRE(::write(ends.other.get(), "ab", 2) == 2);
        CHECK_THAT(errorOf([&] { (void)ends.own->receiveNumber<std::int32_t>(); }), Contains("--timeout"));
    }
}

TEST_CASE("a page server that stops reading in the middle of pages fails the dump in time", "[pages]") {
    Ends ends(1s);
    CHECK_THAT(errorOf([&] { ends.own->send(muchContent()); }), Contains("takes nothing"));
}

TEST_CASE("a side that is slow but goes on is waited for", "[pages]") {
    Ends ends(1s);
    std::thread other([&] {
        for (const char byte : {'a', 'b', 'c', 'd'}) {
            std::this_thread::sleep_for(400ms);
            (void)!::write(ends.other.get(), &byte, 1);
        }
    });
    std::vector<std::byte> got(4);
    CHECK(ends.own->receive(got));
    other.join();
}

TEST_CASE("a requested stop ends every wait for the other side, whatever the time limit", "[pages]") {
    Ends ends(0s);
    const LateStop late;
    SECTION("for an answer") {
        CHECK_THAT(errorOf([&] { (void)ends.own->receiveNumber<std::int32_t>(); }), Contains("stopped by SIGTERM"));
    }
    SECTION("for room") {
        CHECK_THAT(errorOf([&] { ends.own->send(muchContent()); }), Contains("stopped by SIGTERM"));
    }
    SECTION("of threads that wait for different things") {
        std::string other;
        std::thread waiting([&] { other = errorOf([&] { ends.own->send(muchContent()); }); });
        CHECK_THAT(errorOf([&] { (void)ends.own->receiveNumber<std::int32_t>(); }), Contains("stopped by SIGTERM"));
        waiting.join();
        CHECK_THAT(other, Contains("stopped by SIGTERM"));
    }
}

TEST_CASE("the end of the other side ends every wait for it", "[pages]") {
    Ends ends(0s);
    std::byte one{};
    SECTION("between messages") {
        ends.other.reset();
        CHECK_FALSE(ends.own->receive(std::span(&one, 1)));
        CHECK_THAT(errorOf([&] { (void)ends.own->receiveNumber<std::int32_t>(); }), Contains("closed the connection"));
    }
    SECTION("within a message") {
        std::thread leaving([&] {
            (void)!::write(ends.other.get(), "a", 1);
            std::this_thread::sleep_for(50ms);
            ends.other.reset();
        });
        CHECK_THAT(errorOf([&] { (void)ends.own->receiveNumber<std::int32_t>(); }), Contains("within a message"));
        leaving.join();
    }
    SECTION("while it should read") {
        std::thread leaving([&] {
            std::this_thread::sleep_for(50ms);
            ends.other.reset();
        });
        CHECK_THAT(errorOf([&] { ends.own->send(muchContent()); }), Contains("send pages"));
        leaving.join();
    }
}
