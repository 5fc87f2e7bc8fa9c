// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/local_channel.hpp"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/kernel/peer_auth.hpp"

using namespace criu;
using criu::engine::DaemonAddress;
using criu::engine::DaemonPlace;
using std::chrono::milliseconds;

namespace {

/// Private directory in which daemons have their folder.
struct TemporaryRuntimeDirectory {
    TemporaryRuntimeDirectory() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
    ~TemporaryRuntimeDirectory() { std::filesystem::remove_all(path); }

    [[nodiscard]] std::string folder() const { return path + "/criu/daemons"; }

    std::string path = "/run/criu-test.XXXXXX";
};

mode_t modeOf(const std::string& path) {
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("a daemon listens in a folder that only its user can enter", "[daemon]") {
    if (::geteuid() != 0)
        return;  // other users have no directory whose parents no other user can change
    StopRequest stop;
    const WaitLimit limit{stop, milliseconds(200)};
    const TemporaryRuntimeDirectory directory;
    const DaemonAddress address("tracker", {directory.path});
    CHECK_FALSE(address.connect(limit));

    std::optional<DaemonPlace> place = address.take();
    REQUIRE(place);
    place->bind();
    CHECK(modeOf(directory.folder()) == 0700);
    CHECK(modeOf(directory.folder() + "/tracker") == 0700);
    CHECK(modeOf(directory.folder() + "/tracker/socket") == 0600);
    CHECK_FALSE(address.take());          // the daemon holds its lock
    CHECK_FALSE(address.connect(limit));  // the daemon hasn't called listen(2)
    engine::listenAsCurrentProcess(place->listener(), 0);
    CHECK(address.connect(limit));  // fills the queue, although the client has closed its end

    SECTION("a full queue doesn't keep a client waiting") {
        CHECK_THROWS_WITH(address.connect(limit), Catch::Contains("accepts no connection"));
    }
    SECTION("a stop request ends the wait for a full queue") {
        REQUIRE(::kill(::getpid(), SIGTERM) == 0);
        CHECK_THROWS_WITH(address.connect({stop, std::nullopt}), Catch::Contains("SIGTERM"));
    }
    SECTION("a daemon removes its directory") {
        place->remove();
        CHECK_FALSE(std::filesystem::exists(directory.folder() + "/tracker"));
        CHECK_FALSE(address.connect(limit));
    }
    SECTION("the next daemon replaces one that was killed, and removes others") {
        { const DaemonPlace killed = std::move(*place); }
        CHECK(std::filesystem::exists(directory.folder() + "/tracker/socket"));
        CHECK_FALSE(address.connect(limit));
        REQUIRE(DaemonAddress("other", {directory.path}).take());
        CHECK_FALSE(std::filesystem::exists(directory.folder() + "/tracker"));
        std::optional<DaemonPlace> next = address.take();
        REQUIRE(next);
        next->bind();
        engine::listenAsCurrentProcess(next->listener(), 0);
        CHECK(address.connect(limit));
    }
}

TEST_CASE("criu uses no folder for daemons that other users may change", "[daemon]") {
    if (::geteuid() != 0)
        return;
    StopRequest stop;
    const WaitLimit limit{stop, milliseconds(200)};
    const TemporaryRuntimeDirectory directory;
    const DaemonAddress address("tracker", {directory.path});
    SECTION("the folder of criu is writable") {
        REQUIRE(::mkdir((directory.path + "/criu").c_str(), 0700) == 0);
        REQUIRE(::chmod((directory.path + "/criu").c_str(), 0777) == 0);
    }
    SECTION("the folder of daemons is readable") {
        REQUIRE(address.take());
        REQUIRE(::chmod(directory.folder().c_str(), 0755) == 0);
    }
    SECTION("the folder of criu belongs to another user") {
        REQUIRE(::mkdir((directory.path + "/criu").c_str(), 0700) == 0);
        REQUIRE(::chown((directory.path + "/criu").c_str(), 12345, 12345) == 0);
    }
    SECTION("the folder of criu is a link") {
        REQUIRE(::symlink("/tmp", (directory.path + "/criu").c_str()) == 0);
    }
    CHECK_THROWS_WITH(address.take(), Catch::Contains("XDG_RUNTIME_DIR"));
    CHECK_FALSE(address.connect(limit));
    const TemporaryRuntimeDirectory second;
    CHECK(DaemonAddress("tracker", {directory.path, second.path}).take());
}

TEST_CASE("a peer is read only while its process lives", "[daemon]") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    const UniqueFd own(ends[0]);
    const UniqueFd theirs(ends[1]);
    const std::array<std::byte, 4> secret{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    std::array<std::byte, 4> found{};
    const engine::PeerProcess self(own.get());  // the kernel reports the process that created the pair
    self.read(reinterpret_cast<std::uintptr_t>(secret.data()), found);
    CHECK(found == secret);

    // The process that connects ends before its memory is read.
    const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof(address.sun_family);  // the kernel chooses a name
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    size = sizeof(address);
    REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
        ::_exit(::connect(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    const UniqueFd ended(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(ended);
    const auto read = [&] {
        const engine::PeerProcess peer(ended.get());
        peer.read(reinterpret_cast<std::uintptr_t>(secret.data()), found);
    };
    CHECK_THROWS_AS(read(), Error);
}
