// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "criu/base/ids.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/image_dir.hpp"
#include "images/stats.hpp"

using namespace criu;
using namespace criu::engine;
using Catch::Matchers::Contains;

namespace {

class WorkDir {
public:
    WorkDir() {
        std::string pattern = (std::filesystem::temp_directory_path() / "criu-stats-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error("mkdtemp");
        path_ = pattern;
    }
    ~WorkDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    WorkDir(const WorkDir&) = delete;
    WorkDir& operator=(const WorkDir&) = delete;
    ImageDir open() const { return ImageDir::open(path_.string()); }

private:
    std::filesystem::path path_;
};

}  // namespace

TEST_CASE("dump statistics are kept in stats-dump with exact page counts") {
    const WorkDir directory;
    DumpStatistics statistics;
    statistics.freezing = std::chrono::microseconds(12);
    statistics.frozen = std::chrono::hours(2);  // more than the field can hold
    statistics.pagesScanned = 1ULL << 40;
    statistics.pagesWritten = 7;
    statistics.sharedPagesWritten = 3;
    writeStatistics(directory.open(), statistics);

    const Record<StatsEntry> entry = directory.open().openRequired(ImageKind::StatsDump).only<StatsEntry>();
    REQUIRE(entry->dump != nullptr);
    CHECK(entry->restore == nullptr);
    CHECK(entry->dump->freezing_time == 12);
    CHECK(entry->dump->frozen_time == 0xffffffffU);
    CHECK(entry->dump->pages_scanned == 1ULL << 40);
    CHECK(entry->dump->pages_written == 7);
    CHECK(entry->dump->has_shpages_written);
    CHECK(entry->dump->shpages_written == 3);
}

TEST_CASE("restore statistics are kept in stats-restore") {
    const WorkDir directory;
    RestoreStatistics statistics;
    statistics.restore = std::chrono::microseconds(1500000);
    statistics.pagesRestored = 99;
    writeStatistics(directory.open(), statistics);

    const Record<StatsEntry> entry = directory.open().openRequired(ImageKind::StatsRestore).only<StatsEntry>();
    REQUIRE(entry->restore != nullptr);
    CHECK(entry->dump == nullptr);
    CHECK(entry->restore->restore_time == 1500000);
    CHECK(entry->restore->has_pages_restored);
    CHECK(entry->restore->pages_restored == 99);
    CHECK_THAT(describeStatistics(statistics), Contains("1.500000 s") && Contains("99 (0x63)"));
}

TEST_CASE("a stopwatch adds up") {
    std::chrono::microseconds total{100};
    {
        const Stopwatch watch(total);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    CHECK(total >= std::chrono::microseconds(2100));
}
