// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/content.hpp"

namespace criu::memory {
struct ReadWatch;
}

namespace criu::device {

/// Returns the number of threads for each of `devices` devices. Each thread does file I/O or waits for its device. One
/// core reads about 5 GB/s of a file in the page cache, and PCIe 5 x16 transfers 64 GB/s (test/bench/gpu_rate).
[[nodiscard]] std::size_t contentThreads(unsigned cores, std::size_t devices) noexcept;

/// Returns the size in bytes of the bounce buffer for one of the `threads` copiers of a device. `limit`: total size for
/// all copiers of the device.
[[nodiscard]] std::uint64_t contentBuffer(std::uint64_t limit, std::size_t threads) noexcept;

/// Value of a limit that stands for the default: each copier gets kContentBuffer bytes.
inline constexpr std::uint64_t kDefaultContentLimit = ~std::uint64_t{0} - 1;
/// Size of a copier's bounce buffer in bytes. The device copies one half while the thread reads or writes the other
/// half. A thread reads a half from the page cache in 400 microseconds. To submit a copy and to wait for it takes a
/// tenth of this time. Larger buffers are slower, because they don't stay in the caches of a core.
inline constexpr std::uint64_t kContentBuffer = std::uint64_t{4} << 20;

/// Mover of device contents. Several threads for each device move pieces: some read or write files while the device
/// copies other pieces. After the first failure, and in the destructor, the remaining pieces are discarded.
class ContentMover {
public:
    /// `bufferLimit`: memory for all copiers of one device in bytes, or kDefaultContentLimit. `stop`: ends running
    /// copies; may be null. `watch`: must outlive this object. The mover calls only `watch.piece`; the callers of add()
    /// report the expected size.
    ContentMover(ContentDriver& driver, Direction direction, std::uint64_t bufferLimit, StopRequest* stop,
                 const memory::ReadWatch& watch);
    ~ContentMover();
    ContentMover(const ContentMover&) = delete;
    ContentMover& operator=(const ContentMover&) = delete;

    /// Adds a job. Jobs of an ordered store must be added in the order of positions, and must belong to one device.
    void add(std::uint32_t device, ContentJob job);
    /// Waits until all contents are moved, and ends the threads. Throws the first failure.
    void finish();
    /// Logs the size, the duration, and whether a copier has used a slower method. Call it after finish().
    void report(Log& log) const;

private:
    using Clock = std::chrono::steady_clock;
    /// Piece of a job.
    struct Work {
        std::shared_ptr<const ContentJob> job;
        std::uint64_t start = 0;
        std::uint64_t size = 0;
    };
    struct Device {
        std::deque<Work> jobs;
        std::condition_variable ready;
        std::vector<std::thread> threads;
    };
    /// Function that a thread runs. `share` is the size of its bounce buffer in bytes.
    void work(std::uint32_t number, Device& device, std::uint64_t share);
    void endThreads(bool drop) noexcept;
    void throwIfOver();

    ContentDriver& driver_;
    Direction direction_;
    std::uint64_t limit_;
    const unsigned cores_;  ///< number of cores on which this process may run
    StopRequest* stop_;
    const memory::ReadWatch& watch_;
    std::uint64_t bytes_ = 0;
    Clock::time_point began_{};      ///< start time of the copy that began first
    Clock::time_point ended_{};      ///< end time of the copy that ended last
    std::atomic<bool> over_{false};  ///< true if running copies may end early, because their results aren't needed
    std::mutex mutex_;
    bool ending_ = false;
    std::exception_ptr failure_;
    std::string fallback_;
    std::map<std::uint32_t, std::unique_ptr<Device>> devices_;
};

}  // namespace criu::device
