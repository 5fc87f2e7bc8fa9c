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

/// Returns the number of threads for each of `devices` devices. A thread does file I/O or waits for its device. One
/// core reads about 3 GB/s of a file in the page cache, and PCIe 4 x16 carries ten times as much, PCIe 5 twenty times.
[[nodiscard]] std::size_t contentThreads(unsigned cores, std::size_t devices) noexcept;

/// Share of the bounce buffer for one of `threads` copiers of a device. `limit`: bytes for all of them.
[[nodiscard]] std::uint64_t contentBuffer(std::uint64_t limit, std::size_t threads) noexcept;

/// A limit of the driver's default: each copier gets kContentBuffer.
inline constexpr std::uint64_t kDefaultContentLimit = ~std::uint64_t{0} - 1;
/// Size of a copier's bounce buffer, in bytes. A device copies one half while the thread reads or writes the other one.
/// PCIe 4 x16 takes 130 microseconds for a half, several times as long as a submission and its wait.
inline constexpr std::uint64_t kContentBuffer = std::uint64_t{8} << 20;

/// Moves contents of device buffers in pieces, by several threads for each device. Threads read or write files while
/// the device copies other pieces. The first failure, or the destructor, drops the rest.
class ContentMover {
public:
    /// `bufferLimit`: bytes for all copiers of one device, or kDefaultContentLimit. `stop` ends running copies; may be
    /// null. `watch` outlives this object; only `piece` is called, and callers of add() report the expected size.
    ContentMover(ContentDriver& driver, Direction direction, std::uint64_t bufferLimit, StopRequest* stop,
                 const memory::ReadWatch& watch);
    ~ContentMover();
    ContentMover(const ContentMover&) = delete;
    ContentMover& operator=(const ContentMover&) = delete;

    /// Adds a job. Jobs of an ordered store must come in order of position and be of one device.
    void add(std::uint32_t device, ContentJob job);
    /// Waits until all is moved and ends the threads. Throws the first failure.
    void finish();
    /// Logs size, duration and the use of a slower way. Called after finish().
    void report(Log& log) const;

private:
    using Clock = std::chrono::steady_clock;
    /// A piece and its job.
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
    /// Loop of a thread. `share`: bytes of its bounce buffer.
    void work(std::uint32_t number, Device& device, std::uint64_t share);
    void endThreads(bool drop) noexcept;
    void throwIfOver();

    ContentDriver& driver_;
    Direction direction_;
    std::uint64_t limit_;
    const unsigned cores_;  ///< cores that this process may use
    StopRequest* stop_;
    const memory::ReadWatch& watch_;
    std::uint64_t bytes_ = 0;
    Clock::time_point began_{};      ///< start of the first copy
    Clock::time_point ended_{};      ///< end of the last copy
    std::atomic<bool> over_{false};  ///< running copies are of no use
    std::mutex mutex_;
    bool ending_ = false;
    std::exception_ptr failure_;
    std::string fallback_;
    std::map<std::uint32_t, std::unique_ptr<Device>> devices_;
};

}  // namespace criu::device
