// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/names.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "image_fixture.hpp"

using Catch::Contains;
using criu::createLog;
using criu::openBelow;
using criu::UniqueFd;
using criu::test::errorOf;
using criu::test::TemporaryDir;

namespace {

UniqueFd openNamesDirectory(const std::string& path) {
    return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

mode_t modeOf(const std::string& path) {
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_mode;
}

}  // namespace

TEST_CASE("nothing is opened outside of a directory, whatever component of the path is a link") {
    const TemporaryDir tmp;
    std::filesystem::create_directories(tmp.path() + "/top/a/b");
    std::ofstream(tmp.path() + "/top/a/b/file") << "x";
    std::filesystem::create_directory(tmp.path() + "/outside");
    std::filesystem::create_symlink(tmp.path() + "/outside", tmp.path() + "/top/absolute");
    std::filesystem::create_symlink("a", tmp.path() + "/top/relative");
    std::filesystem::create_symlink("b/file", tmp.path() + "/top/a/last");
    const UniqueFd root = openNamesDirectory(tmp.path() + "/top");
    CHECK(openBelow(root.get(), "a/b/file", O_RDONLY));
    CHECK(openBelow(root.get(), "", O_PATH));
    for (const char* const path : {"absolute", "relative/b/file", "a/last"})
        CHECK_THAT(errorOf([&] { (void)openBelow(root.get(), path, O_PATH); }), Contains("symbolic link"));
    for (const char* const path : {"../outside", "a/../../outside", "/etc"})
        CHECK_THAT(errorOf([&] { (void)openBelow(root.get(), path, O_PATH); }), Contains("below its directory"));
    CHECK_THAT(errorOf([&] { (void)openBelow(root.get(), "a/none", O_PATH); }), Contains("No such file"));
}

TEST_CASE("a path leads to a file or not, or the kernel can't tell") {
    const criu::test::TemporaryDir place;
    const std::string file = place.path() + "/file";
    CHECK_FALSE(criu::leadsToFile(file));
    CHECK(criu::leadsToFile(place.path()));
    CHECK_FALSE(criu::leadsToFile("/proc/self/status/below"));
    CHECK_THROWS_WITH(criu::leadsToFile(place.path() + '/' + std::string(300, 'x')), Catch::Contains("too long"));
}

TEST_CASE("a log is readable for its owner alone, and replaces an earlier one") {
    const TemporaryDir tmp;
    const std::string path = tmp.path() + "/log";
    std::ofstream(path) << "earlier";
    std::filesystem::permissions(path, std::filesystem::perms(0666));
    {
        const UniqueFd log = createLog(path);
        REQUIRE(::write(log.get(), "new", 3) == 3);
    }
    CHECK(modeOf(path) == (S_IFREG | 0600));
    CHECK(std::filesystem::file_size(path) == 3);
    CHECK(createLog("/dev/null"));
}

TEST_CASE("a log is opened through a link only where no other user can have created it") {
    const TemporaryDir tmp;
    const std::string path = tmp.path() + "/log";
    std::ofstream(tmp.path() + "/precious") << "precious";
    std::filesystem::create_symlink("precious", path);
    {
        const UniqueFd log = createLog(path);  // the test owns the directory
        REQUIRE(::write(log.get(), "!", 1) == 1);
    }
    CHECK(std::filesystem::file_size(tmp.path() + "/precious") == 9);
    std::filesystem::permissions(tmp.path(), std::filesystem::perms(01777));
    CHECK_THAT(errorOf([&] { (void)createLog(path); }), Contains("log"));
    CHECK(std::filesystem::file_size(tmp.path() + "/precious") == 9);
    std::filesystem::remove(path);
    std::filesystem::create_hard_link(tmp.path() + "/precious", path);
    (void)createLog(path);
    CHECK(std::filesystem::file_size(tmp.path() + "/precious") == 9);
}

TEST_CASE("a directory is opened through links of one's own, and not through those of others") {
    const TemporaryDir tmp;
    const std::string base = std::filesystem::canonical(tmp.path());
    std::filesystem::create_directories(base + "/real/deep");
    std::filesystem::create_directory(base + "/shared");
    std::filesystem::create_directory_symlink("real", base + "/own");
    std::filesystem::create_directory_symlink("../real", base + "/shared/theirs");
    const auto inodeOf = [](int fd) {
        struct stat status {};
        REQUIRE(::fstat(fd, &status) == 0);
        return criu::Inode::of(status);
    };
    const UniqueFd wanted = openNamesDirectory(base + "/real/deep");
    CHECK(inodeOf(criu::openDirectory(base + "/own/deep").get()) == inodeOf(wanted.get()));
    CHECK(inodeOf(criu::openDirectory(base + "/shared/theirs/deep").get()) == inodeOf(wanted.get()));
    const std::string self = "/proc/self/fd/" + std::to_string(wanted.get()) + "/../deep";
    CHECK(inodeOf(criu::openDirectory(self).get()) == inodeOf(wanted.get()));
    if (::geteuid() != 0)
        return;  // only root can create a link of another user
    REQUIRE(::chown((base + "/shared").c_str(), 1000, 1000) == 0);
    CHECK_THAT(errorOf([&] { (void)criu::openDirectory(base + "/shared/theirs/deep"); }),
               Contains("theirs is a symbolic link that others may have put there"));
    CHECK_THAT(errorOf([&] { (void)criu::openDirectory(base + "/real/none"); }), Contains("No such file"));
    // In /tmp no other user can replace root's link.
    REQUIRE(::chown((base + "/shared").c_str(), 0, 0) == 0);
    std::filesystem::permissions(base + "/shared", std::filesystem::perms(01777));
    CHECK(criu::openDirectory(base + "/shared/theirs/deep"));
    REQUIRE(::lchown((base + "/shared/theirs").c_str(), 1000, 1000) == 0);
    CHECK_THROWS(criu::openDirectory(base + "/shared/theirs/deep"));
}
