// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/lazy/lazy_queue.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <future>
#include <memory>

#include "criu/memory/lazy/lazy_memory.hpp"

using namespace criu;
using criu::engine::LazyQueue;

namespace {

constexpr std::uint64_t kStart = std::uint64_t{1} << 30;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

LazyQueue::Memory memoryOf(std::uint64_t bytes) {
    memory::LazyPageMap pages;
    pages.add({kStart, bytes, kStart});
    return std::make_shared<memory::LazyMemory>("process 1", UniqueFd(), std::move(pages), nullptr);
}

/// Returns the next job; nothing if the queue has none within ten seconds.
std::optional<LazyQueue::Job> nextOf(LazyQueue& queue) {
    auto job = std::async(std::launch::async, [&queue] { return queue.next(); });
    if (job.wait_for(std::chrono::seconds(10)) != std::future_status::ready)
        queue.close();
    return job.get();
}

}  // namespace

TEST_CASE("a queue of lazy pages supplies waiting pages before the processes run, after many faults", "[lazy]") {
    LazyQueue queue;
    const LazyQueue::Memory memory = memoryOf(64 * kMebibyte);
    queue.add(memory);
    constexpr int kFaults = 16;
    for (int fault = 0; fault < kFaults; ++fault)
        queue.want(memory, kStart + static_cast<std::uint64_t>(fault) * kMebibyte);
    for (int fault = 0; fault < kFaults; ++fault) {
        const auto job = nextOf(queue);
        REQUIRE(job);
        CHECK(job->request.source == kStart + static_cast<std::uint64_t>(fault) * kMebibyte);
    }
    const auto job = nextOf(queue);
    REQUIRE(job);
    const std::uint64_t last = kStart + (kFaults - 1) * kMebibyte;
    CHECK(job->request.source > last);
    CHECK(job->request.source < last + kMebibyte);
}
