// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::model {
struct Client;
struct Options;
}  // namespace criu::model

namespace criu::engine {

/// Times and amounts of a dump. Pages are 4 KiB. Private and shared pages written add up to the size of the pages
/// files.
struct DumpStatistics {
    std::chrono::microseconds freezing{};     ///< until all tasks were frozen
    std::chrono::microseconds frozen{};       ///< while all tasks were frozen
    std::chrono::microseconds memoryDump{};   ///< draining memory, and finding the pages to drain
    std::chrono::microseconds memoryWrite{};  ///< part of memoryDump: writing to files
    std::uint64_t pagesScanned = 0;
    std::uint64_t pagesSkippedParent = 0;  ///< unchanged since the parent images
    std::uint64_t pagesWritten = 0;
    std::uint64_t pagesLazy = 0;  ///< left as lazy pages
    std::uint64_t sharedPagesScanned = 0;
    std::uint64_t sharedPagesSkippedParent = 0;
    std::uint64_t sharedPagesWritten = 0;
    std::uint64_t bufferBytes = 0;  ///< memory for page buffers; displayed, not stored in the image
};

/// Times and amounts of a restore.
struct RestoreStatistics {
    std::chrono::microseconds forking{};
    std::chrono::microseconds restore{};  ///< from the start until the tasks run
    std::uint64_t pagesCompared = 0;      ///< pages compared with those inherited from the parent process
    std::uint64_t pagesSkippedCow = 0;    ///< equal pages that stay shared
    std::uint64_t pagesRestored = 0;
    std::uint64_t bufferBytes = 0;  ///< memory for page buffers; displayed, not stored in the image
};

/// Adds the time between construction and destruction to a total.
class Stopwatch {
public:
    explicit Stopwatch(std::chrono::microseconds& total) noexcept
        : total_(total), start_(std::chrono::steady_clock::now()) {}
    ~Stopwatch() {
        total_ += std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_);
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    std::chrono::microseconds& total_;
    std::chrono::steady_clock::time_point start_;
};

/// Writes stats-dump or stats-restore into the work directory. The fields hold at most 71 minutes; longer times are
/// capped.
void writeStatistics(const ImageDir& workDir, const DumpStatistics& statistics);
void writeStatistics(const ImageDir& workDir, const RestoreStatistics& statistics);

/// Returns the text of --display-stats.
std::string describeStatistics(const DumpStatistics& statistics);
std::string describeStatistics(const RestoreStatistics& statistics);

/// Writes the statistics into the work directory, and prints them with --display-stats. A failure is only logged,
/// because the tasks are already resumed or killed.
void reportStatistics(const DumpStatistics& statistics, const model::Options& options, const model::Client& client,
                      Log& log) noexcept;
void reportStatistics(const RestoreStatistics& statistics, const model::Options& options, const model::Client& client,
                      Log& log) noexcept;

}  // namespace criu::engine
