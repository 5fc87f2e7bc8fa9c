// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "criu/kernel/names/created_name.hpp"
#include "image_fixture.hpp"

using criu::kernel::CreatedDirectories;
using criu::kernel::CreatedName;
using criu::test::TemporaryDir;

namespace {

void create(CreatedName& name) {
    (void)name.createFile(O_WRONLY);
}

}  // namespace

TEST_CASE("a created name is removed with its object, unless it is released") {
    const TemporaryDir tmp;
    {
        CreatedName name(tmp.path() + "/file");
        create(name);
        CHECK(std::filesystem::exists(tmp.path() + "/file"));
    }
    CHECK_FALSE(std::filesystem::exists(tmp.path() + "/file"));
    {
        CreatedName name(tmp.path() + "/file");
        create(name);
        name.release();
    }
    CHECK(std::filesystem::exists(tmp.path() + "/file"));
}

TEST_CASE("what had the name before, or has got it since, isn't removed") {
    const TemporaryDir tmp;
    const std::string path = tmp.path() + "/file";
    std::ofstream(path) << "before";
    { const CreatedName name(path); }
    CHECK(std::filesystem::exists(path));
    std::filesystem::remove(path);

    CreatedName name(path);
    create(name);
    std::filesystem::rename(path, tmp.path() + "/elsewhere");
    std::ofstream(path) << "since";
    CHECK(name.remove() == EEXIST);
    CHECK(std::filesystem::file_size(path) == 5);
    CHECK(std::filesystem::exists(tmp.path() + "/elsewhere"));
}

TEST_CASE("a name is removed from the directory it was made in, whatever leads to the path now") {
    const TemporaryDir tmp;
    std::filesystem::create_directory(tmp.path() + "/in");
    CreatedName name(tmp.path() + "/in/file");
    create(name);
    std::filesystem::rename(tmp.path() + "/in", tmp.path() + "/moved");
    std::filesystem::create_directory(tmp.path() + "/in");
    std::ofstream(tmp.path() + "/in/file") << "other";
    CHECK(name.remove() == 0);
    CHECK_FALSE(std::filesystem::exists(tmp.path() + "/moved/file"));
    CHECK(std::filesystem::exists(tmp.path() + "/in/file"));
}

TEST_CASE("created directories are removed, but not earlier ones or ones in use") {
    const TemporaryDir tmp;
    std::filesystem::create_directory(tmp.path() + "/a");
    {
        CreatedDirectories directories;
        directories.make(tmp.path() + "/a/b/c");
        CHECK(std::filesystem::is_directory(tmp.path() + "/a/b/c"));
    }
    CHECK_FALSE(std::filesystem::exists(tmp.path() + "/a/b"));
    CHECK(std::filesystem::exists(tmp.path() + "/a"));
    {
        CreatedDirectories directories;
        directories.make(tmp.path() + "/a/b/c");
        std::ofstream(tmp.path() + "/a/b/mine") << "x";
    }
    CHECK(std::filesystem::exists(tmp.path() + "/a/b/mine"));
    CHECK_FALSE(std::filesystem::exists(tmp.path() + "/a/b/c"));
}

TEST_CASE("a created file is changed through its descriptor, not by its name") {
    const TemporaryDir tmp;
    const std::string path = tmp.path() + "/name";
    std::ofstream(tmp.path() + "/precious") << "x";
    std::filesystem::permissions(tmp.path() + "/precious", std::filesystem::perms(0600));
    CreatedName name(path);
    for (const mode_t type : {S_IFIFO, S_IFSOCK}) {
        const criu::UniqueFd made = name.createNode(type);
        std::filesystem::rename(path, tmp.path() + "/moved");
        std::filesystem::create_symlink("precious", path);
        criu::changeMode(made.get(), 0666);
        criu::changeOwner(made.get(), ::getuid(), ::getgid());
        criu::changeTimes(made.get(), {1, 0}, {2, 0});
        struct stat status {};
        REQUIRE(::stat((tmp.path() + "/moved").c_str(), &status) == 0);
        CHECK(status.st_mode == (type | 0666));
        CHECK(status.st_mtim.tv_sec == 2);
        REQUIRE(::stat((tmp.path() + "/precious").c_str(), &status) == 0);
        CHECK((status.st_mode & 07777) == 0600);
        CHECK_THROWS(name.open());
        CHECK(name.remove() == EEXIST);
        std::filesystem::remove(path);
        std::filesystem::remove(tmp.path() + "/moved");
    }
}

TEST_CASE("a name moves only to one that is free, and is removed there") {
    const TemporaryDir tmp;
    {
        CreatedName from(tmp.path() + "/from");
        CreatedName to(tmp.path() + "/to");
        create(from);
        std::ofstream(tmp.path() + "/to") << "theirs";
        CHECK(from.moveTo(to) == EEXIST);
        CHECK(std::filesystem::file_size(tmp.path() + "/to") == 6);
        std::filesystem::remove(tmp.path() + "/to");
        CHECK(from.moveTo(to) == 0);
        CHECK(std::filesystem::exists(tmp.path() + "/to"));
        CHECK_FALSE(std::filesystem::exists(tmp.path() + "/from"));
    }
    CHECK(std::filesystem::is_empty(tmp.path()));
}
