// SPDX-License-Identifier: GPL-2.0-only
// The kernel's settings of transparent huge pages.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "criu/kernel/mm/huge_pages.hpp"
#include "image_fixture.hpp"

using namespace criu;

namespace {

/// Directory of settings, as the kernel shows them.
class Settings {
public:
    void set(const std::string& name, const std::string& line) const {
        const std::filesystem::path path = dir_.path() + "/" + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << line << '\n';
    }
    [[nodiscard]] std::uint64_t smallest() const { return kernel::smallestHugePage(dir_.path()); }

private:
    test::TemporaryDir dir_;
};

}  // namespace

TEST_CASE("the smallest huge page without advice is that of a size which is always given, or inherits this") {
    constexpr std::uint64_t kLarge = std::uint64_t{2} << 20;
    const Settings settings;
    settings.set("hpage_pmd_size", "2097152");
    settings.set("enabled", "always [madvise] never");
    CHECK(settings.smallest() == kernel::kNoHugePages);
    settings.set("enabled", "[always] madvise never");
    CHECK(settings.smallest() == kLarge);

    settings.set("hugepages-2048kB/enabled", "always [inherit] madvise never");
    settings.set("hugepages-64kB/enabled", "always inherit madvise [never]");
    settings.set("hugepages-8kB/shmem_enabled", "always inherit within_size advise [never]");
    CHECK(settings.smallest() == kLarge);
    settings.set("hugepages-64kB/enabled", "always [inherit] madvise never");
    CHECK(settings.smallest() == 65536);

    settings.set("enabled", "always [madvise] never");
    CHECK(settings.smallest() == kernel::kNoHugePages);
    settings.set("hugepages-64kB/enabled", "[always] inherit madvise never");
    CHECK(settings.smallest() == 65536);
}

TEST_CASE("settings of huge pages that can't be read mean that each fault may get one") {
    const Settings settings;
    CHECK(settings.smallest() == 1);
    CHECK(kernel::smallestHugePage("/nonexistent") == kernel::kNoHugePages);
}
