// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <fstream>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/files/ghost_file.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/run_command.hpp"
#include "criu/namespaces/mount/file_archive.hpp"
#include "image_fixture.hpp"

using Catch::Contains;
using criu::StopRequest;
using criu::UniqueFd;
using criu::test::errorOf;

namespace {

constexpr const char* kStopped = "stopped by SIGTERM";

}  // namespace

TEST_CASE("a requested stop ends the packing of a file system") {
    const criu::test::TemporaryDir place;
    std::ofstream(place.path() + "/file") << "content";
    const UniqueFd directory(::open(place.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const UniqueFd archive(::memfd_create("archive", MFD_CLOEXEC));
    StopRequest stop;
    ::raise(SIGTERM);
    CHECK_THAT(errorOf([&] {
                   (void)criu::namespaces::FileArchives().pack(directory.get(), archive.get(), criu::model::IdMap(),
                                                               nullptr, stop);
               }),
               Contains(kStopped));
}

TEST_CASE("a requested stop ends the copying of a deleted file") {
    const criu::test::TemporaryDir place;
    criu::files::OpenFd file;
    file.copy = UniqueFd(::open(place.path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    REQUIRE(::write(file.copy.get(), "content", 7) == 7);
    ::fstat(file.copy.get(), &file.stat);
    StopRequest stop;
    ::raise(SIGTERM);
    criu::files::GhostFileDump ghosts(std::uint64_t{1} << 20);
    CHECK_THAT(errorOf([&] { (void)ghosts.add(file, place.images(), criu::model::IdMap(), stop); }),
               Contains(kStopped));
}

TEST_CASE("a requested stop ends a program that is waited for, with what it has started") {
    const criu::test::TemporaryDir place;
    const std::string fifo = place.path() + "/fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    StopRequest stop;
    // A process that has the fifo open for writing delays the end of file for its reader.
    const UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const std::string script = fmt::format("exec 3>{}; sleep 1000 & kill -TERM $PPID; wait", fifo);
    CHECK_THAT(errorOf([&] {
                   (void)criu::kernel::runProgram("/bin/sh", {"-c", script}, {}, &stop);
               }),
               Contains(kStopped));
    ::fcntl(reader.get(), F_SETFL, 0);
    char byte = 0;
    CHECK(::read(reader.get(), &byte, 1) == 0);
}

TEST_CASE("a program that undoes something is waited for in spite of a stop") {
    StopRequest stop;
    ::raise(SIGTERM);
    CHECK(criu::kernel::runProgram("/bin/sh", {"-c", "echo done"}, {}) == "done\n");
}
