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

/// What a dump took and moved. Pages are of 4 KiB; private and shared ones written add up to the pages files' size.
struct DumpStatistics {
    std::chrono::microseconds freezing{};     ///< until all tasks stood still
    std::chrono::microseconds frozen{};       ///< how long they stood still
    std::chrono::microseconds memoryDump{};   ///< moving memory, with finding out what to move
    std::chrono::microseconds memoryWrite{};  ///< of that, writing to files
    std::uint64_t pagesScanned = 0;
    std::uint64_t pagesSkippedParent = 0;  ///< unchanged since the previous images
    std::uint64_t pagesWritten = 0;
    std::uint64_t pagesLazy = 0;  ///< left for later
    std::uint64_t sharedPagesScanned = 0;
    std::uint64_t sharedPagesSkippedParent = 0;
    std::uint64_t sharedPagesWritten = 0;
    std::uint64_t bufferBytes = 0;  ///< memory taken for moving pages; shown, not kept in the image
};

/// What a restore took and moved.
struct RestoreStatistics {
    std::chrono::microseconds forking{};
    std::chrono::microseconds restore{};  ///< from the start until the tasks run
    std::uint64_t pagesCompared = 0;      ///< with those inherited from the parent
    std::uint64_t pagesSkippedCow = 0;    ///< found equal and left shared
    std::uint64_t pagesRestored = 0;
    std::uint64_t bufferBytes = 0;  ///< memory taken for moving pages; shown, not kept in the image
};

/// Adds the time it lives to a total.
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

/// Writes stats-dump or stats-restore into the work directory. Times beyond the fields' 71 minutes become the most
/// they hold.
void writeStatistics(const ImageDir& workDir, const DumpStatistics& statistics);
void writeStatistics(const ImageDir& workDir, const RestoreStatistics& statistics);

/// The text of --display-stats.
std::string describeStatistics(const DumpStatistics& statistics);
std::string describeStatistics(const RestoreStatistics& statistics);

/// Writes them into the work directory and prints them if --display-stats asks for it. The tasks have been resumed or
/// killed by now, so a failure is only logged.
void reportStatistics(const DumpStatistics& statistics, const model::Options& options, const model::Client& client,
                      Log& log) noexcept;
void reportStatistics(const RestoreStatistics& statistics, const model::Options& options, const model::Client& client,
                      Log& log) noexcept;

}  // namespace criu::engine
