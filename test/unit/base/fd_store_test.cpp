// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/fd_store.hpp"

using namespace criu;
using kernel::FdKey;
using kernel::FdStore;

namespace {

UniqueFd makeFile(const char* name = "stored") {
    return UniqueFd(sys(::memfd_create(name, MFD_CLOEXEC), "make a file"));
}

ino_t inode(int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

/// Runs `body` in a child; returns its result.
bool inChild(const std::function<bool()>& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        bool good = false;
        try {
            good = body();
        } catch (const std::exception&) {
        }
        ::_exit(good ? 0 : 1);
    }
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("descriptor store: a descriptor that can't be inherited stays with the caller") {
    CHECK(inChild([] {
        FdStore store;
        store.reserve(500, 502);
        UniqueFd file = makeFile();
        const rlimit few{400, 400};
        sys(::setrlimit(RLIMIT_NOFILE, &few), "lower the limit of open files");
        try {
            (void)store.inherit(FdKey::Log, std::move(file));
        } catch (const Error&) {
            return file && inode(file.get()) != 0;  // NOLINT(bugprone-use-after-move)
        }
        return false;
    }));
}

TEST_CASE("descriptor store: inherited descriptors lie in the reserved numbers") {
    FdStore store;
    CHECK_THROWS_WITH(store.inherit(FdKey::Images, makeFile()), Catch::Contains("no numbers are reserved"));
    store.reserve(500, 502);
    UniqueFd file = makeFile();
    const ino_t wanted = inode(file.get());
    const int before = file.get();
    file = store.inherit(FdKey::Images, std::move(file));
    CHECK(file.get() == 500);
    CHECK(inode(500) == wanted);
    CHECK(inode(before) != wanted);
    CHECK((::fcntl(500, F_GETFD) & FD_CLOEXEC) != 0);
    file = store.inherit(FdKey::Images, std::move(file));
    CHECK(file.get() == 500);
    CHECK_FALSE(store.inherit(FdKey::Device, UniqueFd()));
    CHECK(inChild([&] { return inode(500) == wanted; }));

    const UniqueFd second = store.inherit(FdKey::Device, makeFile());
    const UniqueFd third = store.inherit(FdKey::Device, makeFile());
    CHECK_THROWS_WITH(store.inherit(FdKey::Cgroup, makeFile()),
                      Catch::Contains("500 to 502") && Catch::Contains("1 for images, 2 for devices"));
    CHECK(inode(503) == 0);
}

TEST_CASE("descriptor store: stored descriptors are had by every process, again and again") {
    FdStore store;
    CHECK_THROWS_WITH(store.add(0), Catch::Contains("isn't open"));
    CHECK_THROWS_WITH(store.get({}), Catch::Contains("isn't open"));
    store.openQueue();
    std::vector<ino_t> inodes;
    // Many more than fit into a socket of default size, which only a privileged process may enlarge.
    const std::uint32_t kFiles = ::geteuid() == 0 ? 2000 : 100;
    for (std::uint32_t at = 0; at < kFiles; ++at) {
        const UniqueFd file = makeFile();
        inodes.push_back(inode(file.get()));
        REQUIRE(store.add(file.get()).value == at);
    }
    store.reserve(600, 610);
    for (const std::uint32_t at : {0U, kFiles - 1, 7U, 7U, kFiles / 2}) {
        const UniqueFd found = store.get({at});
        CHECK(inode(found.get()) == inodes[at]);
        CHECK((::fcntl(found.get(), F_GETFD) & FD_CLOEXEC) != 0);
    }
    CHECK_THROWS_WITH(store.get({kFiles}), Catch::Contains("was never stored"));
    CHECK(inChild([&] { return inode(store.get({3}).get()) == inodes[3]; }));

    // One process adds a descriptor, other processes find it.
    ino_t* const made =
        static_cast<ino_t*>(::mmap(nullptr, sizeof(ino_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    CHECK(inChild([&] {
        const UniqueFd file = makeFile();
        *made = inode(file.get());
        return store.add(file.get()).value == kFiles;
    }));
    CHECK(inode(store.get({kFiles}).get()) == *made);
    ::munmap(made, sizeof(ino_t));
}

TEST_CASE("descriptor store: a stored descriptor is closed when no process can get it any more") {
    FdStore store;
    store.openQueue();
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    (void)store.add(writing.get());
    writing.reset();
    char byte = 0;
    CHECK((::read(reading.get(), &byte, 1) == -1 && errno == EAGAIN));
    store.closeQueue();
    CHECK(::read(reading.get(), &byte, 1) == 0);
    CHECK_THROWS_WITH(store.get({}), Catch::Contains("isn't open"));
}

TEST_CASE("descriptor store: many processes at the same time") {
    FdStore store;
    store.openQueue();
    std::vector<ino_t> inodes;
    for (int at = 0; at < 50; ++at) {
        const UniqueFd file = makeFile();
        inodes.push_back(inode(file.get()));
        store.add(file.get());
    }
    std::vector<pid_t> children;
    for (int child = 0; child < 8; ++child) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            bool good = true;
            for (unsigned round = 0; round < 500; ++round) {
                const auto at = (round * 7 + static_cast<unsigned>(child)) % 50;
                good = good && inode(store.get({at}).get()) == inodes[at];
            }
            ::_exit(good ? 0 : 1);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) {
        int status = 0;
        REQUIRE(::waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
}

TEST_CASE("descriptor store: no room for another open file is an error") {
    FdStore store;
    store.openQueue();
    const UniqueFd file = makeFile();
    store.add(file.get());
    CHECK(inChild([&] {
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = 3;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        try {
            (void)store.get({0});
        } catch (const Error& error) {
            return std::string(error.what()).find("too many files are open") != std::string::npos;
        }
        return false;
    }));
}
