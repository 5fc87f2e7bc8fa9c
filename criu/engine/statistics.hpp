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

/// Times and amounts of a dump. A page has 4 KiB. pagesWritten plus sharedPagesWritten is the number of pages in the
/// pages files.
struct DumpStatistics {
    std::chrono::microseconds freezing{};     ///< time until all tasks were frozen
    std::chrono::microseconds frozen{};       ///< time in which all tasks were frozen
    std::chrono::microseconds memoryDump{};   ///< time to find and drain pages
    std::chrono::microseconds memoryWrite{};  ///< part of memoryDump in which criu wrote to files
    std::uint64_t pagesScanned = 0;
    std::uint64_t pagesSkippedParent = 0;  ///< pages that haven't changed since the parent images
    std::uint64_t pagesWritten = 0;
    std::uint64_t pagesLazy = 0;  ///< pages that the dump left as lazy pages
    std::uint64_t sharedPagesScanned = 0;
    std::uint64_t sharedPagesSkippedParent = 0;
    std::uint64_t sharedPagesWritten = 0;
    std::uint64_t bufferBytes = 0;  ///< bytes of page buffers; only for --display-stats
};

/// Times and amounts of a restore.
struct RestoreStatistics {
    std::chrono::microseconds forking{};
    std::chrono::microseconds restore{};  ///< time from the start of criu until the tasks run
    std::uint64_t pagesCompared = 0;      ///< pages whose content criu compared with that of inherited pages
    /// Pages with the content of the inherited page, which the processes continue to share.
    std::uint64_t pagesSkippedCow = 0;
    std::uint64_t pagesRestored = 0;
    std::uint64_t bufferBytes = 0;  ///< bytes of page buffers; only for --display-stats
};

/// Scope that adds its duration to `total`.
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

/// Writes the image stats-dump or stats-restore into the work directory. A time field of the image has 32 bits, so a
/// time above 71 minutes becomes 71 minutes.
void writeStatistics(const ImageDir& workDir, const DumpStatistics& statistics);
void writeStatistics(const ImageDir& workDir, const RestoreStatistics& statistics);

/// Returns the text of --display-stats.
std::string describeStatistics(const DumpStatistics& statistics);
std::string describeStatistics(const RestoreStatistics& statistics);

/// Returns the JSON document of --display-stats --json, with the field names of the images. Times are microseconds.
std::string statisticsJson(const DumpStatistics& statistics);
std::string statisticsJson(const RestoreStatistics& statistics);

/// Writes the statistics into the work directory, and prints them with --display-stats. A failure is only logged,
/// because the tasks are already resumed or killed.
void reportStatistics(const DumpStatistics& statistics, const model::Options& options, const model::Client& client,
                      Log& log) noexcept;
void reportStatistics(const RestoreStatistics& statistics, const model::Options& options, const model::Client& client,
                      Log& log) noexcept;

}  // namespace criu::engine
