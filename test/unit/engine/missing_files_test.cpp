// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/check/missing_files.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using criu::engine::mayAskServer;

TEST_CASE("paths below the mount point of a FUSE file system aren't looked up") {
    CHECK(mayAskServer("/mnt", {"/mnt"}));
    CHECK(mayAskServer("/mnt/file", {"/mnt"}));
    CHECK_FALSE(mayAskServer("/mnt2/file", {"/mnt"}));
    CHECK(mayAskServer("//mnt/./file", {"/mnt"}));
    CHECK(mayAskServer("/etc/../mnt/file", {"/mnt"}));
    CHECK_FALSE(mayAskServer("/etc", {}));
}

TEST_CASE("every path is below a FUSE file system that is the root") {
    CHECK(mayAskServer("/", {"/"}));
    CHECK(mayAskServer("/etc/passwd", {"/"}));
}

TEST_CASE("a symbolic link on the way may lead to a FUSE file system") {
    std::string folder = "/tmp/missing-files-XXXXXX";
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    REQUIRE(::symlink("/mnt", (folder + "/link").c_str()) == 0);
    CHECK(mayAskServer(folder + "/link/file", {"/mnt"}));
    CHECK_FALSE(mayAskServer(folder + "/link/file", {}));
    CHECK_FALSE(mayAskServer(folder + "/link", {"/mnt"}));  // lstat(2) doesn't follow it
    CHECK_FALSE(mayAskServer(folder + "/no/file", {"/mnt"}));
    CHECK(::unlink((folder + "/link").c_str()) == 0);
    CHECK(::rmdir(folder.c_str()) == 0);
}
