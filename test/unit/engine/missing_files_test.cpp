// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/missing_files.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using criu::engine::mayReachFuseServer;

TEST_CASE("paths below the mount point of a FUSE file system aren't looked up") {
    CHECK(mayReachFuseServer("/mnt", {"/mnt"}));
    CHECK(mayReachFuseServer("/mnt/file", {"/mnt"}));
    CHECK_FALSE(mayReachFuseServer("/mnt2/file", {"/mnt"}));
    CHECK(mayReachFuseServer("//mnt/./file", {"/mnt"}));
    CHECK(mayReachFuseServer("/etc/../mnt/file", {"/mnt"}));
    CHECK_FALSE(mayReachFuseServer("/etc", {}));
}

TEST_CASE("every path is below a FUSE file system that is the root") {
    CHECK(mayReachFuseServer("/", {"/"}));
    CHECK(mayReachFuseServer("/etc/passwd", {"/"}));
}

TEST_CASE("a symbolic link on the way may lead to a FUSE file system") {
    std::string folder = "/tmp/missing-files-XXXXXX";
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    REQUIRE(::symlink("/mnt", (folder + "/link").c_str()) == 0);
    CHECK(mayReachFuseServer(folder + "/link/file", {"/mnt"}));
    CHECK_FALSE(mayReachFuseServer(folder + "/link/file", {}));
    CHECK_FALSE(mayReachFuseServer(folder + "/link", {"/mnt"}));  // lstat(2) doesn't follow the link
    CHECK_FALSE(mayReachFuseServer(folder + "/no/file", {"/mnt"}));
    CHECK(::unlink((folder + "/link").c_str()) == 0);
    CHECK(::rmdir(folder.c_str()) == 0);
}
