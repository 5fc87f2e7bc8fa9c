// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/probe/features.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/probe/feature_cache.hpp"
#include "criu/kernel/proc/tasks.hpp"

using namespace criu::kernel;

namespace {

/// Directory that the destructor removes with its files.
class CacheDirectory {
public:
    CacheDirectory() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
    ~CacheDirectory() {
        ::unlink(file("cache").c_str());
        ::unlink(file("link").c_str());
        ::rmdir(path_.c_str());
    }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + '/' + name; }

private:
    std::string path_ = "/tmp/criu-unit.XXXXXX";
};

}  // namespace

TEST_CASE("every feature has a name of its own") {
    std::set<std::string_view> names;
    for (const FeatureInfo& info : featureTable())
        CHECK(names.insert(info.name).second);
}

TEST_CASE("a feature cache is believed only whole, and under its own key") {
    const std::string text = "key 1\nmnt_id\ntimens\nend\n";
    const auto names = parseFeatureCache(text, "key 1");
    REQUIRE(names.has_value());
    CHECK(*names == std::vector<std::string_view>{"mnt_id", "timens"});
    CHECK_FALSE(parseFeatureCache(text, "key 2").has_value());
    CHECK_FALSE(parseFeatureCache(text, "key").has_value());
    CHECK_FALSE(parseFeatureCache(text + "more\n", "key 1").has_value());
    for (std::size_t length = 0; length + 1 < text.size(); ++length)
        CHECK_FALSE(parseFeatureCache(text.substr(0, length), "key 1").has_value());
}

TEST_CASE("a feature cache is read only if no other user could have written it") {
    const CacheDirectory directory;
    const std::string path = directory.file("cache");
    CHECK_FALSE(readFeatureCache(path).has_value());
    writeFeatureCache(path, "key", {"a", "b"});
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
    CHECK(readFeatureCache(path) == "key\na\nb\nend\n");
    REQUIRE(::symlink(path.c_str(), directory.file("link").c_str()) == 0);
    CHECK_FALSE(readFeatureCache(directory.file("link")).has_value());
    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    CHECK_FALSE(readFeatureCache(path).has_value());
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    if (::geteuid() == 0) {
        REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
        CHECK_FALSE(readFeatureCache(path).has_value());
    }
    CHECK_THROWS_AS(writeFeatureCache("/nonexistent/cache", "key", {}), criu::Error);
}

TEST_CASE("found features are saved, and taken from the file by the next run") {
    const CacheDirectory directory;
    const std::string path = directory.file("cache");
    {
        Features features(path);
        CHECK(features.has(Feature::NsPid));
        CHECK_FALSE(readFeatureCache(path).has_value());
    }
    const auto saved = readFeatureCache(path);
    REQUIRE(saved.has_value());
    CHECK(*saved == featureCacheKey() + "\nns_pid\nend\n");
    // No kernel has this feature under that name, so the result must come from the file.
    writeFeatureCache(path, featureCacheKey(), {"apparmor_stacking", "a name from another version"});
    CHECK(Features(path).has(Feature::AppArmorStacking));
    writeFeatureCache(path, "criu-features of another boot", {"apparmor_stacking"});
    CHECK(Features(path).has(Feature::AppArmorStacking) == Features("").has(Feature::AppArmorStacking));
}

TEST_CASE("probes leave no child, descriptor or mapping of theirs behind") {
    ProcBuffer buffer;
    const ProcPid self = ProcDir().open(::getpid());
    Features warmUp("");
    for (const FeatureInfo& info : featureTable())
        static_cast<void>(warmUp.has(info.feature));
    const auto fds = readDescriptors(self);
    Features features("");
    for (const FeatureInfo& info : featureTable())
        CHECK(features.has(info.feature) == warmUp.has(info.feature));
    CHECK(readDescriptors(self) == fds);
    CHECK(readChildren(self, ::getpid(), buffer).empty());
}

TEST_CASE("a required feature that the kernel lacks is an error with its purpose") {
    Features features("");
    for (const FeatureInfo& info : featureTable()) {
        if (features.has(info.feature)) {
            CHECK_NOTHROW(features.require(info.feature));
            continue;
        }
        try {
            features.require(info.feature);
            FAIL("no error");
        } catch (const criu::Error& error) {
            CHECK(std::string_view(error.what()).starts_with(info.lack));
        }
    }
}
