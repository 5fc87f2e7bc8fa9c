// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "criu/base/mapping.hpp"
#include "criu/kernel/procdir.hpp"

/// The engine that moves bulk data, with every core: jobs of {file range, memory}. Used for private memory, shared
/// memory and memfds alike, on dump and on restore.
namespace criu::memory {

/// Consecutive bytes of a file that belong at an address.
struct FillJob {
    std::uint64_t fileOffset = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

/// Reads all jobs from `fd` (positioned reads) into this process' memory. `jobs` ascend in the file. Large totals are
/// spread over threads, which have all ended when this returns.
void fillMemory(int fd, std::span<const FillJob> jobs);

/// One run of pages that goes into a pages file.
struct DrainJob {
    std::uint64_t address = 0;     ///< in the process, or offset in the file that is read
    std::uint64_t bytes = 0;       ///< whole pages
    std::uint64_t fileOffset = 0;  ///< in the pages file
};

/// Where pages come from: the memory of a stopped process, or a file (a memfd, shared memory).
struct DrainSource {
    pid_t pid = 0;                             ///< whose memory; 0 for a file
    const kernel::ProcPid* process = nullptr;  ///< the same process: for pages without PROT_READ
    int fd = -1;                               ///< the file; what lies beyond its end reads as zeroes
};

/// Moves pages into pages files, in large blocks, by as many threads as pay off; small amounts by the calling thread.
/// Pages of zeroes become holes. Buffers are kept from one run to the next.
class Drainer {
public:
    struct Options {
        std::function<void(std::uint64_t)> progress;  ///< called with bytes just done, from any thread; may be empty
        std::function<bool()> stopWanted;             ///< asked between blocks, from any thread; may be empty
        unsigned threads = 0;                         ///< at most; 0: one per core
    };

    Drainer() : Drainer(Options{}) {}
    explicit Drainer(Options options);

    /// One copy whose jobs become known bit by bit: threads are at work from when it's clear that there is much to do.
    /// One at a time; none outlives its drainer, nor any thread its run. What was added last is moved by finish(),
    /// without which nothing is complete.
    class Run {
    public:
        Run(Drainer& drainer, const DrainSource& source, int pagesFd);
        ~Run();
        Run(const Run&) = delete;
        Run& operator=(const Run&) = delete;

        /// Jobs ascend in the pages file, which must already be large enough (ftruncate). What lies between them isn't
        /// touched. Throws Error, also for earlier jobs; with EINTR if stopWanted() said so.
        void add(std::span<const DrainJob> jobs);
        void finish();

    private:
        struct State;
        std::unique_ptr<State> state_;
    };

    /// All at once.
    void drain(const DrainSource& source, int pagesFd, std::span<const DrainJob> jobs);

    /// Memory taken for buffers so far.
    [[nodiscard]] std::uint64_t bufferBytes() const noexcept { return bufferBytes_; }
    /// Bytes that became holes, in all finished runs.
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
