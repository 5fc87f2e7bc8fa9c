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

/// Text of --display-stats.
class Table {
public:
    explicit Table(std::string_view title) { fmt::format_to(std::back_inserter(text_), "{}:\n", title); }

    void time(std::string_view, std::string_view what, microseconds value) {
        row(what, fmt::format("{}.{:06} s", value.count() / 1000000, value.count() % 1000000));
    }
    void pages(std::string_view, std::string_view what, std::uint64_t count) {
        row(what, fmt::format("{} ({:#x})", count, count));
    }
    void bytes(std::string_view, std::string_view what, std::uint64_t count) {
        row(what, fmt::format("{:.1f} MiB", static_cast<double>(count) / (1U << 20)));
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    void row(std::string_view what, std::string_view value) {
        fmt::format_to(std::back_inserter(text_), "  {:<36} {}\n", what, value);
    }
    std::string text_;
};

/// JSON document of --display-stats --json.
class Document {
public:
    explicit Document(std::string_view command) { out_.beginObject().add("command", command); }

    void time(std::string_view key, std::string_view, microseconds value) {
        out_.add(key, std::int64_t{value.count()});
    }
    void pages(std::string_view key, std::string_view, std::uint64_t count) { out_.add(key, count); }
    void bytes(std::string_view key, std::string_view, std::uint64_t count) { out_.add(key, count); }
    [[nodiscard]] std::string take() { return out_.end().take(); }

private:
    JsonWriter out_;
};

/// Adds all values to a Table or a Document, each with the field name of the image and a description.
template <class Output>
std::string fill(Output out, const DumpStatistics& statistics) {
    out.time("freezing_time", "Freezing the tree", statistics.freezing);
    out.time("frozen_time", "Tree frozen", statistics.frozen);
    out.time("memdump_time", "Moving memory", statistics.memoryDump);
    out.time("memwrite_time", "Writing memory", statistics.memoryWrite);
    out.pages("pages_scanned", "Pages scanned", statistics.pagesScanned);
    out.pages("pages_skipped_parent", "Pages kept in previous images", statistics.pagesSkippedParent);
    out.pages("pages_written", "Pages written", statistics.pagesWritten);
    out.pages("pages_lazy", "Pages left for later", statistics.pagesLazy);
    out.pages("shpages_scanned", "Shared pages scanned", statistics.sharedPagesScanned);
    out.pages("shpages_skipped_parent", "Shared pages kept in previous images", statistics.sharedPagesSkippedParent);
    out.pages("shpages_written", "Shared pages written", statistics.sharedPagesWritten);
    out.bytes("buffer_bytes", "Page buffers", statistics.bufferBytes);
    return out.take();
}

template <class Output>
std::string fill(Output out, const RestoreStatistics& statistics) {
    out.time("forking_time", "Forking", statistics.forking);
    out.time("restore_time", "Whole restore", statistics.restore);
    out.pages("pages_compared", "Pages compared", statistics.pagesCompared);
    out.pages("pages_skipped_cow", "Pages left shared", statistics.pagesSkippedCow);
    out.pages("pages_restored", "Pages restored", statistics.pagesRestored);
    out.bytes("buffer_bytes", "Page buffers", statistics.bufferBytes);
    return out.take();
}

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
    return fill(Document("dump"), statistics);
}

std::string statisticsJson(const RestoreStatistics& statistics) {
    return fill(Document("restore"), statistics);
}

std::string describeStatistics(const DumpStatistics& statistics) {
    return fill(Table("Dump statistics"), statistics);
}

std::string describeStatistics(const RestoreStatistics& statistics) {
    return fill(Table("Restore statistics"), statistics);
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
