// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/thread_lanes.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"

namespace {

TEST_CASE("lanes divide a list without gaps", "[lanes]") {
    criu::ThreadLanes lanes(4);
    for (const std::size_t size : {0U, 1U, 3U, 4U, 10U, 101U}) {
        std::vector<std::atomic<unsigned>> visits(size);
        lanes.run([&](std::size_t lane) {
            const criu::ThreadLanes::Part part = lanes.part(size, lane);
            for (std::size_t i = part.first; i < part.end; ++i)
                ++visits[i];
        });
        for (const auto& count : visits)
            CHECK(count == 1);
    }
}

TEST_CASE("a lane is always served by the same thread, and lane 0 by the caller", "[lanes]") {
    criu::ThreadLanes lanes(3);
    REQUIRE(lanes.count() == 3);
    std::array<std::thread::id, 3> first;
    std::array<std::thread::id, 3> second;
    lanes.run([&](std::size_t lane) { first[lane] = std::this_thread::get_id(); });
    lanes.run([&](std::size_t lane) { second[lane] = std::this_thread::get_id(); });
    CHECK(first == second);
    CHECK(first[0] == std::this_thread::get_id());
    CHECK(first[1] != first[0]);
    CHECK(first[2] != first[0]);
    CHECK(first[2] != first[1]);
}

TEST_CASE("a run waits for all lanes, and throws the failure of the first one that failed", "[lanes]") {
    criu::ThreadLanes lanes(4);
    std::atomic<unsigned> ended{0};
    std::string text;
    try {
        const criu::ErrorContext context([] { return std::string("outside"); });
        lanes.run([&](std::size_t lane) {
            if (lane == 3)
                criu::fail("lane three");
            if (lane == 1) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                criu::fail("lane one");
            }
            ++ended;
        });
    } catch (const criu::Error& error) {
        text = error.what();
    }
    CHECK(text == "outside: lane one");
    CHECK(ended == 2);
    lanes.run([&](std::size_t) { ++ended; });  // a failure doesn't stay
    CHECK(ended == 6);
}

TEST_CASE("one lane is the caller", "[lanes]") {
    criu::ThreadLanes lanes(1);
    std::thread::id seen;
    lanes.run([&](std::size_t lane) {
        CHECK(lane == 0);
        seen = std::this_thread::get_id();
    });
    CHECK(seen == std::this_thread::get_id());
    CHECK(lanes.part(7, 0).end == 7);
}

}  // namespace
