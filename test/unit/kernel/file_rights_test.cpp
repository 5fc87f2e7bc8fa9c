// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/file_rights.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>

#include "image_fixture.hpp"

using criu::UniqueFd;
using criu::kernel::FileRights;
using criu::kernel::FileRightsScope;
using criu::test::TemporaryDir;

namespace {

int openError(const std::string& path, int flags) {
    const UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC));
    return file ? 0 : errno;
}

void make(const std::string& path, uid_t user, gid_t group, mode_t mode) {
    std::ofstream(path) << "x";
    REQUIRE(::chown(path.c_str(), user, group) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
}

}  // namespace

TEST_CASE("files are opened with the rights of another user, and with one's own afterwards") {
    if (::geteuid() != 0) {
        WARN("skipped: only root can become others");
        return;
    }
    const TemporaryDir tmp;
    REQUIRE(::chmod(tmp.path().c_str(), 0755) == 0);
    make(tmp.path() + "/root", 0, 0, 0600);
    make(tmp.path() + "/user", 1000, 0, 0600);
    make(tmp.path() + "/group", 0, 1001, 0640);
    make(tmp.path() + "/further", 0, 1002, 0640);
    make(tmp.path() + "/readable", 0, 0, 0644);
    FileRights rights;
    rights.user = 1000;
    rights.group = 1001;
    rights.groups = {1002};
    int signal = 0;
    REQUIRE(::prctl(PR_SET_PDEATHSIG, SIGUSR2) == 0);
    const int dumpable = ::prctl(PR_GET_DUMPABLE);
    for (int round = 0; round < 2; ++round) {
        const FileRightsScope taken(rights);
        CHECK(openError(tmp.path() + "/root", O_RDONLY) == EACCES);
        CHECK(openError(tmp.path() + "/user", O_RDWR) == 0);
        CHECK(openError(tmp.path() + "/group", O_RDONLY) == 0);
        CHECK(openError(tmp.path() + "/group", O_RDWR) == EACCES);
        CHECK(openError(tmp.path() + "/further", O_RDONLY) == 0);
        CHECK(openError(tmp.path() + "/readable", O_RDONLY | O_NOATIME) == EPERM);
        // An open file can be opened again through /proc, within the process' file rights.
        const UniqueFd path(::open((tmp.path() + "/readable").c_str(), O_PATH | O_CLOEXEC));
        const std::string self = "/proc/self/fd/" + std::to_string(path.get());
        CHECK(openError(self, O_RDONLY) == 0);
        CHECK(openError(self, O_RDWR) == EACCES);
    }
    CHECK(openError(tmp.path() + "/root", O_RDWR) == 0);
    CHECK(::prctl(PR_GET_DUMPABLE) == dumpable);
    REQUIRE(::prctl(PR_GET_PDEATHSIG, &signal) == 0);
    CHECK(signal == SIGUSR2);
    ::prctl(PR_SET_PDEATHSIG, 0);
    rights.ignoresModes = true;
    {
        const FileRightsScope taken(rights);
        CHECK(openError(tmp.path() + "/root", O_RDWR) == 0);
    }
    CHECK(::setfsuid(static_cast<uid_t>(-1)) == 0);
}

TEST_CASE("whose files are one's own, and who may open everything") {
    FileRights rights;
    CHECK_FALSE(rights.areAll());
    rights.ignoresModes = rights.readsAll = true;
    CHECK(rights.areAll());
    rights.user = 1000;
    rights.users = {1001};
    CHECK_FALSE(rights.areAll());
    CHECK(rights.own(1000));
    CHECK(rights.own(1001));
    CHECK_FALSE(rights.own(0));
}
