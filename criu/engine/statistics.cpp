// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/statistics.hpp"

#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <string_view>

#include "criu/base/json.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "images/stats.hpp"

namespace criu::engine {
namespace {

using std::chrono::microseconds;

std::uint32_t field(microseconds time) noexcept {
    constexpr microseconds::rep most = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(std::clamp<microseconds::rep>(time.count(), 0, most));
}

void write(const ImageDir& workDir, ImageKind kind, const StatsEntry& entry) {
    ImageWriter writer = workDir.create(kind);
    writer.write(entry);
    writer.finish();
}

class Table {
public:
    explicit Table(std::string_view title) { fmt::format_to(std::back_inserter(text_), "{}:\n", title); }

    Table& time(std::string_view what, microseconds value) {
        return row(what, fmt::format("{}.{:06} s", value.count() / 1000000, value.count() % 1000000));
    }
    Table& pages(std::string_view what, std::uint64_t count) {
        return row(what, fmt::format("{} ({:#x})", count, count));
    }
    Table& bytes(std::string_view what, std::uint64_t count) {
        return row(what, fmt::format("{:.1f} MiB", static_cast<double>(count) / (1U << 20)));
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    Table& row(std::string_view what, std::string_view value) {
        fmt::format_to(std::back_inserter(text_), "  {:<36} {}\n", what, value);
        return *this;
    }
    std::string text_;
};

template <class Statistics>
void report(const Statistics& statistics, const model::Options& options, const model::Client& client,
            Log& log) noexcept {
    try {
        writeStatistics(openWorkDir(client), statistics);
        if (options.displayStats)
            ::dprintf(STDOUT_FILENO, "%s",
                      (options.json ? statisticsJson(statistics) : describeStatistics(statistics)).c_str());
    } catch (const std::exception& error) {
        log.warn("No statistics: {}", error.what());
    }
}

}  // namespace

void writeStatistics(const ImageDir& workDir, const DumpStatistics& statistics) {
    Arena arena;
    auto* const dump = arena.make<DumpStatsEntry>();
    dump->freezing_time = field(statistics.freezing);
    dump->frozen_time = field(statistics.frozen);
    dump->memdump_time = field(statistics.memoryDump);
    dump->memwrite_time = field(statistics.memoryWrite);
    dump->pages_scanned = statistics.pagesScanned;
    dump->pages_skipped_parent = statistics.pagesSkippedParent;
    dump->pages_written = statistics.pagesWritten;
    dump->pages_lazy = statistics.pagesLazy;
    dump->has_shpages_scanned = 1;
    dump->shpages_scanned = statistics.sharedPagesScanned;
    dump->has_shpages_skipped_parent = 1;
    dump->shpages_skipped_parent = statistics.sharedPagesSkippedParent;
    dump->has_shpages_written = 1;
    dump->shpages_written = statistics.sharedPagesWritten;

    auto* const entry = arena.make<StatsEntry>();
    entry->dump = dump;
    write(workDir, ImageKind::StatsDump, *entry);
}

void writeStatistics(const ImageDir& workDir, const RestoreStatistics& statistics) {
    Arena arena;
    auto* const restore = arena.make<RestoreStatsEntry>();
    restore->pages_compared = statistics.pagesCompared;
    restore->pages_skipped_cow = statistics.pagesSkippedCow;
    restore->forking_time = field(statistics.forking);
    restore->restore_time = field(statistics.restore);
    restore->has_pages_restored = 1;
    restore->pages_restored = statistics.pagesRestored;

    auto* const entry = arena.make<StatsEntry>();
    entry->restore = restore;
    write(workDir, ImageKind::StatsRestore, *entry);
}

std::string statisticsJson(const DumpStatistics& statistics) {
    return JsonWriter()
        .beginObject()
        .add("command", "dump")
        .add("freezing_time", std::int64_t{statistics.freezing.count()})
        .add("frozen_time", std::int64_t{statistics.frozen.count()})
        .add("memdump_time", std::int64_t{statistics.memoryDump.count()})
        .add("memwrite_time", std::int64_t{statistics.memoryWrite.count()})
        .add("pages_scanned", statistics.pagesScanned)
        .add("pages_skipped_parent", statistics.pagesSkippedParent)
        .add("pages_written", statistics.pagesWritten)
        .add("pages_lazy", statistics.pagesLazy)
        .add("shpages_scanned", statistics.sharedPagesScanned)
        .add("shpages_skipped_parent", statistics.sharedPagesSkippedParent)
        .add("shpages_written", statistics.sharedPagesWritten)
        .add("buffer_bytes", statistics.bufferBytes)
        .end()
        .take();
}

std::string statisticsJson(const RestoreStatistics& statistics) {
    return JsonWriter()
        .beginObject()
        .add("command", "restore")
        .add("forking_time", std::int64_t{statistics.forking.count()})
        .add("restore_time", std::int64_t{statistics.restore.count()})
        .add("pages_compared", statistics.pagesCompared)
        .add("pages_skipped_cow", statistics.pagesSkippedCow)
        .add("pages_restored", statistics.pagesRestored)
        .add("buffer_bytes", statistics.bufferBytes)
        .end()
        .take();
}

std::string describeStatistics(const DumpStatistics& statistics) {
    return Table("Dump statistics")
        .time("Freezing the tree", statistics.freezing)
        .time("Tree frozen", statistics.frozen)
        .time("Moving memory", statistics.memoryDump)
        .time("Writing memory", statistics.memoryWrite)
        .pages("Pages scanned", statistics.pagesScanned)
        .pages("Pages kept in previous images", statistics.pagesSkippedParent)
        .pages("Pages written", statistics.pagesWritten)
        .pages("Pages left for later", statistics.pagesLazy)
        .pages("Shared pages scanned", statistics.sharedPagesScanned)
        .pages("Shared pages kept in previous images", statistics.sharedPagesSkippedParent)
        .pages("Shared pages written", statistics.sharedPagesWritten)
        .bytes("Page buffers", statistics.bufferBytes)
        .take();
}

std::string describeStatistics(const RestoreStatistics& statistics) {
    return Table("Restore statistics")
        .time("Forking", statistics.forking)
        .time("Whole restore", statistics.restore)
        .pages("Pages compared", statistics.pagesCompared)
        .pages("Pages left shared", statistics.pagesSkippedCow)
        .pages("Pages restored", statistics.pagesRestored)
        .bytes("Page buffers", statistics.bufferBytes)
        .take();
}

void reportStatistics(const DumpStatistics& statistics, const model::Options& options, const model::Client& client,
                      Log& log) noexcept {
    report(statistics, options, client, log);
}

void reportStatistics(const RestoreStatistics& statistics, const model::Options& options, const model::Client& client,
                      Log& log) noexcept {
    report(statistics, options, client, log);
}

}  // namespace criu::engine
