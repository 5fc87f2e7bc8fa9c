// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/watches/inode_search.hpp"
#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/files/tree_root.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "criu/files/proc_path.hpp"

using namespace criu;
using files::InodeSearch;

namespace {

/// Directory that the destructor removes.
struct SearchedFolder {
    std::string path;
    SearchedFolder() {
        std::string name = "/tmp/criu-inode-search-XXXXXX";
        path = ::mkdtemp(name.data());
    }
    ~SearchedFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
};

struct stat statOf(const std::string& path) {
    struct stat found {};
    REQUIRE(::lstat(path.c_str(), &found) == 0);
    return found;
}

}  // namespace

TEST_CASE("a path is found for an inode below the user's directories") {
    const SearchedFolder folder;
    std::filesystem::create_directories(folder.path + "/a/b/c");
    std::ofstream(folder.path + "/a/b/c/file") << "text";
    std::filesystem::create_symlink("/", folder.path + "/a/link");
    Log log;
    const files::TreeRoot tree;
    InodeSearch search({folder.path}, tree, log, {});

    const struct stat file = statOf(folder.path + "/a/b/c/file");
    CHECK(search.find(file.st_dev, file.st_ino) == folder.path + "/a/b/c/file");
    const struct stat self = statOf(folder.path);
    CHECK(search.find(self.st_dev, self.st_ino) == folder.path);
    const struct stat link = statOf(folder.path + "/a/link");
    CHECK(search.find(link.st_dev, link.st_ino) == folder.path + "/a/link");
}

TEST_CASE("a path that went away isn't given out") {
    const SearchedFolder folder;
    const std::string one = folder.path + "/one";
    const std::string two = folder.path + "/two";
    std::ofstream(one) << "text";
    const struct stat file = statOf(one);
    Log log;
    const files::TreeRoot tree;
    InodeSearch search({folder.path}, tree, log, {});
    REQUIRE(search.find(file.st_dev, file.st_ino) == one);
    std::filesystem::rename(one, two);
    CHECK_FALSE(search.find(file.st_dev, file.st_ino));
}

TEST_CASE("a whole mount is searched when it is added") {
    const SearchedFolder folder;
    std::ofstream(folder.path + "/file") << "text";
    const struct stat file = statOf(folder.path + "/file");
    Log log;
    const files::TreeRoot tree;
    InodeSearch search({}, tree, log, {});
    REQUIRE_FALSE(search.find(file.st_dev, file.st_ino));
    search.addMount(folder.path);
    CHECK(search.find(file.st_dev, file.st_ino) == folder.path + "/file");
}

TEST_CASE("a search ends when a stop is requested, when it has taken too long, and before file systems to avoid") {
    const SearchedFolder folder;
    for (int i = 0; i < 600; ++i)
        std::filesystem::create_directories(fmt::format("{}/{}/a", folder.path, i));
    std::ofstream(folder.path + "/599/a/file") << "text";
    const struct stat file = statOf(folder.path + "/599/a/file");
    Log log;
    const files::TreeRoot tree;
    {
        InodeSearch search({folder.path}, tree, log, {nullptr, std::chrono::seconds(0), {file.st_dev}});
        CHECK_FALSE(search.find(file.st_dev, file.st_ino));
    }
    {
        InodeSearch search({folder.path}, tree, log, {nullptr, std::chrono::seconds(-1), {}});
        CHECK_FALSE(search.find(file.st_dev, file.st_ino));
    }
    StopRequest stop;
    {
        InodeSearch search({folder.path}, tree, log, {&stop, std::chrono::seconds(100), {}});
        CHECK(search.find(file.st_dev, file.st_ino) == folder.path + "/599/a/file");
    }
    ::raise(SIGTERM);
    InodeSearch search({folder.path}, tree, log, {&stop, std::chrono::seconds(100), {}});
    CHECK_THROWS_AS(search.find(file.st_dev, file.st_ino), Error);
}

TEST_CASE("paths below a process' directory") {
    CHECK(files::processOfPath("/proc/12") == TreePid(12));
    CHECK(files::processOfPath("/proc/12/status") == TreePid(12));
    CHECK_FALSE(files::processOfPath("/proc/self"));
    CHECK_FALSE(files::processOfPath("/proc/12x/status"));
    CHECK_FALSE(files::processOfPath("/proc/0"));
    CHECK_FALSE(files::processOfPath("/proc/99999999999"));
    CHECK_FALSE(files::processOfPath("/proc"));
    CHECK_FALSE(files::processOfPath("/mnt/proc/12"));
}
