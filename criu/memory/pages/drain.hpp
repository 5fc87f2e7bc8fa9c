// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/pages/page_sink.hpp"

/// The engine that copies pages out of stopped processes and files into a dump, with every core. Used for private
/// memory, shared memory and memfds alike.
namespace criu::memory {

/// Consecutive pages that go into a dump.
struct DrainJob {
    PageRun run;          ///< if present, its content is read at the run's address
    bool shared = false;  ///< other processes may have the pages, too, and are to go on sharing them
};

/// Where pages come from: the memory of a stopped process, a file (a memfd, shared memory), or a function.
struct DrainSource {
    HostPid pid;                               ///< whose memory; none for a file
    const kernel::ProcPid* process = nullptr;  ///< the same process: for pages without PROT_READ
    int fd = -1;                               ///< the file; what lies beyond its end reads as zeroes
    /// For a process that runs: /proc/PID/mem, open since it stood still, so that it is the same memory whatever became
    /// of the process. What can't be read any more reads as zeroes, and is reported, from any thread.
    int runningMemory = -1;
    std::function<void(std::uint64_t address, std::uint64_t bytes)> lost = nullptr;
    /// For what is neither memory nor one file: reads all that `into` has room for, in any thread; throws Error.
    std::function<void(std::uint64_t address, std::span<std::byte> into)> content = nullptr;
};

/// Copies pages into sinks, in large blocks, by as many threads as pay off; small amounts by the calling thread.
/// Buffers are kept from one run to the next.
class Drainer {
public:
    struct Options {
        std::function<void(std::uint64_t)> progress;  ///< called with bytes just done, from any thread; may be empty
        /// Called with when a block was begun, and its bytes, from the thread that has just done it; may be empty.
        std::function<void(std::chrono::steady_clock::time_point, std::uint64_t)> block;
        std::function<bool()> stopWanted;  ///< asked between blocks, from any thread; may be empty
        unsigned threads = 0;              ///< at most; 0: one per core
    };

    Drainer() : Drainer(Options{}) {}
    explicit Drainer(Options options);

    /// The copy of one object, whose jobs become known bit by bit: threads are at work from when it's clear that there
    /// is much to do. One at a time; none outlives its drainer or the sink, nor any thread its run. What was added last
    /// is copied by finish(), without which nothing is complete.
    class Run {
    public:
        Run(Drainer& drainer, const DrainSource& source, PageSink& sink);
        ~Run();
        Run(const Run&) = delete;
        Run& operator=(const Run&) = delete;

        /// Adds runs to the sink and copies their content. Throws Error, also for earlier jobs; with EINTR if
        /// stopWanted() said so.
        void add(std::span<const DrainJob> jobs);
        /// All content has been written. The sink isn't finished: that is its owner's to do.
        void finish();

    private:
        struct State;
        std::unique_ptr<State> state_;
    };

    /// All at once.
    void drain(const DrainSource& source, PageSink& sink, std::span<const DrainJob> jobs);

    /// Whether Options::stopWanted() says so.
    [[nodiscard]] bool stopWanted() const { return options_.stopWanted && options_.stopWanted(); }

    /// Memory taken for buffers so far.
    [[nodiscard]] std::uint64_t bufferBytes() const noexcept { return bufferBytes_; }
    /// Bytes of zero pages that took no storage, in all finished runs.
    [[nodiscard]] std::uint64_t zeroBytes() const noexcept { return zeroBytes_; }

private:
    void makeBuffers(std::size_t count);

    Options options_;
    std::vector<Mapping> buffers_;
    std::uint64_t bufferBytes_ = 0;
    std::uint64_t zeroBytes_ = 0;
};

/// Bytes below which threads cost more than they bring.
inline constexpr std::uint64_t kWorthThreads = std::uint64_t{16} << 20;

}  // namespace criu::memory
