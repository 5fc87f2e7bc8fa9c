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

/// Drain: copies pages of private memory, segments and files out of frozen processes into a dump, on all cores.
namespace criu::memory {

/// Consecutive pages to dump.
struct DrainJob {
    PageRun run;          ///< if present, its content is at the run's address
    bool shared = false;  ///< other processes may share the pages, and must keep sharing them
};

/// Source of pages: the memory of a frozen process, a file (a memfd, shared memory), or a function.
struct DrainSource {
    HostPid pid;                               ///< process that has the memory; none for a file
    const kernel::ProcPid* process = nullptr;  ///< /proc directory of that process, for pages without PROT_READ
    int fd = -1;                               ///< the file; bytes beyond its end read as zeroes
    /// /proc/PID/mem of a running process, opened while it was frozen, so that it refers to the same memory after
    /// execve(2). Unreadable memory reads as zeroes and is reported to `lost`, from any thread.
    int runningMemory = -1;
    std::function<void(std::uint64_t address, std::uint64_t bytes)> lost = nullptr;
    /// Reads content of other sources: fills `into`. Called from any thread; throws Error.
    std::function<void(std::uint64_t address, std::span<std::byte> into)> content = nullptr;
};

/// Copies pages into sinks in large blocks. Uses as many threads as pay off; the calling thread copies small amounts.
/// Keeps its buffers between runs.
class Drainer {
public:
    struct Options {
        std::function<void(std::uint64_t)> progress;  ///< called with the bytes just copied, from any thread; may be
                                                      ///< empty
        /// Called with the start time and the bytes of a copied block, from the thread that copied it; may be empty.
        std::function<void(std::chrono::steady_clock::time_point, std::uint64_t)> block;
        std::function<bool()> stopWanted;  ///< called between blocks, from any thread; may be empty
        unsigned threads = 0;              ///< maximal number; 0: one per core
    };

    Drainer() : Drainer(Options{}) {}
    explicit Drainer(Options options);

    /// Copy of one object whose jobs are added step by step. Threads start when enough work is known.
    /// A drainer has at most one run at a time, which must not outlive the drainer or the sink. The destructor ends
    /// all threads. Only finish() completes the copy.
    class Run {
    public:
        Run(Drainer& drainer, const DrainSource& source, PageSink& sink);
        ~Run();
        Run(const Run&) = delete;
        Run& operator=(const Run&) = delete;

        /// Adds runs to the sink and copies their content. Throws Error, also for earlier jobs; EINTR if stopWanted()
        /// returned true.
        void add(std::span<const DrainJob> jobs);
        /// Copies the remaining content and waits for all threads. The owner of the sink must finish the sink.
        void finish();

    private:
        struct State;
        std::unique_ptr<State> state_;
    };

    /// Copies all jobs in one run.
    void drain(const DrainSource& source, PageSink& sink, std::span<const DrainJob> jobs);

    /// Returns the result of Options::stopWanted.
    [[nodiscard]] bool stopWanted() const { return options_.stopWanted && options_.stopWanted(); }

    /// Returns the memory allocated for buffers.
    [[nodiscard]] std::uint64_t bufferBytes() const noexcept { return bufferBytes_; }
    /// Returns the bytes of zero pages without storage, in all finished runs.
    [[nodiscard]] std::uint64_t zeroBytes() const noexcept { return zeroBytes_; }

private:
    void makeBuffers(std::size_t count);

    Options options_;
    std::vector<Mapping> buffers_;
    std::uint64_t bufferBytes_ = 0;
    std::uint64_t zeroBytes_ = 0;
};

/// Bytes below which threads cost more than they gain.
inline constexpr std::uint64_t kWorthThreads = std::uint64_t{16} << 20;

}  // namespace criu::memory
