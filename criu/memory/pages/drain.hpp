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

/// Drain: copies pages of private memory, segments and files from frozen processes into page sinks, on all cores.
namespace criu::memory {

/// Run of pages to dump.
struct DrainJob {
    PageRun run;  ///< run of pages; with PageFlags::Present, run.address is the address of the content
    /// True if other processes may share the pages copy-on-write. The copy must not break this sharing.
    bool shared = false;
};

/// Source of pages: the memory of a frozen process, a file (a memfd or shared memory), or a function.
struct DrainSource {
    HostPid pid;  ///< process whose memory is read; unset for a file
    /// /proc directory of `pid`, which is needed to read pages without PROT_READ.
    const kernel::ProcPid* process = nullptr;
    int fd = -1;  ///< descriptor of the file; -1 for a process. Bytes after the end of the file read as zeroes
    /// Descriptor of /proc/PID/mem of a running process, or -1. criu opened it while the process was frozen. So it
    /// refers to the dumped memory even after execve(2).
    int runningMemory = -1;
    /// Called from any thread for memory that `runningMemory` can't read; the dump stores zeroes for such memory.
    std::function<void(std::uint64_t address, std::uint64_t bytes)> lost = nullptr;
    /// Reads the content of a source that is neither a process nor a file into `into`. Called from any thread. Throws
    /// Error.
    std::function<void(std::uint64_t address, std::span<std::byte> into)> content = nullptr;
};

/// Copier of pages into sinks, in large blocks. The calling thread copies small amounts itself; several threads copy
/// larger amounts. The buffers are kept for the next run.
class Drainer {
public:
    struct Options {
        /// Called from any thread with the number of bytes that this thread has just copied; may be empty.
        std::function<void(std::uint64_t)> progress;
        /// Called from the thread that copied a block, with the start time and the size of this block; may be empty.
        std::function<void(std::chrono::steady_clock::time_point, std::uint64_t)> block;
        /// Called between blocks, from any thread; true ends the copy; may be empty.
        std::function<bool()> stopWanted;
        unsigned threads = 0;  ///< maximum number of threads; 0: one per core
    };

    Drainer() : Drainer(Options{}) {}
    explicit Drainer(Options options);

    /// Copy of the pages of one object; the caller adds jobs step by step. Threads start when 16 MiB (kWorthThreads)
    /// are queued. A drainer has at most one run at a time. The drainer and the sink must outlive the run. Only
    /// finish() completes the copy; the destructor without finish() ends all threads.
    class Run {
    public:
        Run(Drainer& drainer, const DrainSource& source, PageSink& sink);
        ~Run();
        Run(const Run&) = delete;
        Run& operator=(const Run&) = delete;

        /// Adds runs to the sink and copies their content. Throws Error, even for a failure that an earlier job caused.
        /// The code is EINTR if stopWanted() returned true.
        void add(std::span<const DrainJob> jobs);
        /// Copies the remaining content and waits for all threads. The caller must then finish the sink.
        void finish();

    private:
        struct State;
        std::unique_ptr<State> state_;
    };

    /// Copies all jobs in one run.
    void drain(const DrainSource& source, PageSink& sink, std::span<const DrainJob> jobs);

    /// Returns the result of Options::stopWanted.
    [[nodiscard]] bool stopWanted() const { return options_.stopWanted && options_.stopWanted(); }

    /// Returns the size of the buffers in bytes.
    [[nodiscard]] std::uint64_t bufferBytes() const noexcept { return bufferBytes_; }
    /// Returns the number of bytes of zero pages that sinks stored as holes, for all finished runs.
    [[nodiscard]] std::uint64_t zeroBytes() const noexcept { return zeroBytes_; }

private:
    void makeBuffers(std::size_t count);

    Options options_;
    std::vector<Mapping> buffers_;
    std::uint64_t bufferBytes_ = 0;
    std::uint64_t zeroBytes_ = 0;
};

/// Minimum bytes of content for which several threads are faster than one.
inline constexpr std::uint64_t kWorthThreads = std::uint64_t{16} << 20;

}  // namespace criu::memory
