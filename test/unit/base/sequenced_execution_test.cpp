// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "criu/base/buffer_pool.hpp"
#include "criu/base/sequenced_execution.hpp"
#include "image_fixture.hpp"

using criu::BufferPool;
using criu::Error;
using criu::SequencedExecution;
using criu::test::errorOf;

TEST_CASE("parts of a sequence run in the order of positions, in any order of arrival") {
    constexpr std::uint64_t kParts = 40;
    SequencedExecution turns;
    std::vector<std::uint64_t> order;
    std::vector<std::thread> threads;
    for (std::uint64_t part = kParts; part-- > 0;)
        threads.emplace_back([&, part] { turns.run(2 * part, 2, [&] { order.push_back(part); }); });
    for (std::thread& thread : threads)
        thread.join();
    REQUIRE(order.size() == kParts);
    for (std::uint64_t part = 0; part < kParts; ++part)
        CHECK(order[part] == part);
}

TEST_CASE("who waits for a part that has failed, or won't come, learns of it") {
    const auto next = [](SequencedExecution& turns, std::string& message) {
        return std::thread([&] { message = errorOf([&] { turns.run(1, 1, [] {}); }); });
    };
    std::string message;
    SECTION("failed") {
        SequencedExecution turns;
        std::thread waiting = next(turns, message);
        CHECK(errorOf([&] { turns.run(0, 1, [] { criu::fail("the disk is full"); }); }) == "the disk is full");
        waiting.join();
        CHECK(message == "the disk is full");
        CHECK(errorOf([&] { turns.run(0, 1, [] {}); }) == "the disk is full");
    }
    SECTION("failed by something else") {
        SequencedExecution turns;
        std::thread waiting = next(turns, message);
        CHECK_THROWS_AS(turns.run(0, 1, [] { throw std::bad_alloc(); }), std::bad_alloc);
        waiting.join();
        CHECK_THAT(message, Catch::Contains("others have failed"));
    }
    SECTION("abandoned") {
        SequencedExecution turns;
        std::thread waiting = next(turns, message);
        turns.abandon();
        waiting.join();
        CHECK_THAT(message, Catch::Contains("others have failed"));
    }
}

TEST_CASE("a buffer is one thread's at a time, and is used again") {
    BufferPool pool(4096);
    const std::byte* first = nullptr;
    {
        BufferPool::Use one(pool);
        BufferPool::Use other(pool);
        first = other.first(1).data();
        CHECK(one.first(4096).data() != first);
    }
    BufferPool::Use again(pool);
    BufferPool::Use both(pool);
    CHECK((again.first(1).data() == first || both.first(1).data() == first));
}
