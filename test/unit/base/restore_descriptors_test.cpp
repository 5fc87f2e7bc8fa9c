// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/engine/restore/files/late_files.hpp"
#include "criu/engine/restore/files/service_fds.hpp"
#include "criu/kernel/names/pid_file.hpp"
#include "criu/namespaces/namespace_restore.hpp"

using namespace criu;
using engine::FileHolder;
using engine::LateFiles;
using engine::PidFile;
using engine::ServiceFds;

namespace {

UniqueFd devNull() {
    return UniqueFd(::open("/dev/null", O_RDONLY));
}

}  // namespace

TEST_CASE("descriptors move into the service range, are closed on exec there, and leave their old number free") {
    const ServiceFds service{500, 501};
    UniqueFd fd = devNull();
    const int before = fd.get();
    const UniqueFd moved = service.moveIn(std::move(fd));
    CHECK(moved.get() == 500);
    CHECK((::fcntl(moved.get(), F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(::fcntl(before, F_GETFD) == -1);
}

TEST_CASE("a descriptor that is in the service range already stays where it is") {
    const ServiceFds service{500, 510};
    UniqueFd fd(::fcntl(devNull().get(), F_DUPFD_CLOEXEC, 505));
    CHECK(service.moveIn(std::move(fd)).get() == 505);
}

TEST_CASE("a full service range is an error, and takes no number behind it") {
    const ServiceFds service{500, 501};
    const UniqueFd first = service.moveIn(devNull());
    const UniqueFd second = service.moveIn(devNull());
    CHECK_THROWS_AS(service.moveIn(devNull()), Error);
    CHECK(::fcntl(502, F_GETFD) == -1);
}

TEST_CASE("a late file has no holder before its opener says so") {
    LateFiles late;
    late.add(FileId(3));
    late.add(FileId(9));
    late.share();
    CHECK(late.contains(FileId(9)));
    CHECK_FALSE(late.contains(FileId(4)));
    CHECK_FALSE(late.find(FileId(9)));
    late.announce(FileId(9), FileHolder{TreePid(20), 7});
    REQUIRE(late.find(FileId(9)));
    CHECK(late.find(FileId(9))->pid == TreePid(20));
    CHECK(late.find(FileId(9))->fd == 7);
    CHECK_FALSE(late.find(FileId(3)));
}

TEST_CASE("a pid file has criu's number of the root, is for its owner only, and is gone if the restore fails") {
    char folder[] = "/tmp/criu-pid-file-XXXXXX";
    REQUIRE(::mkdtemp(folder) != nullptr);
    const std::string path = std::string(folder) + "/pid";
    {
        const PidFile file(path, HostPid(4711));
        std::ifstream content(path);
        CHECK(std::string(std::istreambuf_iterator<char>(content), {}) == "4711");
        struct stat status {};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == 0600);
        CHECK_THROWS_AS(PidFile(path, HostPid(1)), Error);
    }
    CHECK_FALSE(std::filesystem::exists(path));
    PidFile(path, HostPid(4711)).commit();
    CHECK(std::filesystem::exists(path));
    std::filesystem::remove_all(folder);
}

TEST_CASE("a kind of namespaces that moves no descriptors needs no room for some") {
    CHECK(namespaces::NamespaceRestore().descriptors() == 0);
}
