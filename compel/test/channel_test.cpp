// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/channel.hpp>
#include <compel/error.hpp>
#include <compel/process.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "compel/test/blob/daemon_blob.hpp"
#include "compel_daemon_blob.hpp"

using namespace compel;
using test::Child;

namespace {

std::set<std::string> descriptorsOf(pid_t pid) {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd"))
        found.insert(entry.path().filename().string() + " " + std::filesystem::read_symlink(entry).string());
    return found;
}

std::string textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytesOf(const std::string& text) {
    return std::as_bytes(std::span(text));
}

int waitForEnd(const Child::Talk& talk) {
    talk.say("ready");
    return talk.hear() == "end" ? 5 : 1;
}

/// Frozen child with the injected blob.
struct Fixture {
    explicit Fixture(const std::function<int(const Child::Talk&)>& body = waitForEnd)
        : child(body), process((child.hear(), FrozenProcess::freeze(child.pid()))) {}

    void checkUnharmed() {
        CHECK(descriptorsOf(child.pid()) == descriptors);
        injection.cure();
        CHECK(test::mapsOf(child.pid()) == maps);
        process.detach();
        child.say("end");
        CHECK(child.exitCode() == 5);
    }

    Child child;
    FrozenProcess process;
    std::set<std::string> descriptors = descriptorsOf(child.pid());
    std::string maps = test::mapsOf(child.pid());
    Injection injection{process.leader(), daemonblob::blob, Channel::minimumWorkspace, process.syscallInstruction()};
    Channel::Workspace workspace{injection.data(), injection.dataSize()};
};

}  // namespace

TEST_CASE("a blob answers commands over a socket, descriptors going both ways") {
    Fixture it;
    {
        Channel channel(it.injection, it.process.leader(), it.workspace, 1234);
        CHECK(channel.remoteSocket() >= 0);
        CHECK(channel.call(daemonblob::argument).result == 1234);

        std::string big(protocol::maximumPayload, 'x');
        big.back() = 'y';
        CHECK(textOf(channel.call(daemonblob::echo, bytesOf(big)).payload) == big);
        CHECK_THROWS_AS(channel.call(daemonblob::echo, bytesOf(big + "z")), Error);

        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        UniqueFd out(ends[0]);
        UniqueFd in(ends[1]);
        CHECK(channel.call(daemonblob::writeTo, bytesOf("hello"), std::array{in.get()}).result == 5);
        char text[5];
        CHECK(::read(out.get(), text, sizeof(text)) == 5);
        CHECK(std::memcmp(text, "hello", 5) == 0);

        const auto made = channel.call(daemonblob::makePipe);
        CHECK(made.result == 0);
        REQUIRE(made.fds.size() == 2);
        CHECK(::write(made.fds[1].get(), "hello", 5) == 5);
        CHECK(::read(made.fds[0].get(), text, sizeof(text)) == 5);

        const std::vector<int> many(protocol::maximumFds, out.get());
        const auto back = channel.call(daemonblob::echo, {}, many);
        CHECK(back.result == static_cast<std::int64_t>(protocol::maximumFds));
        CHECK(back.fds.size() == protocol::maximumFds);
        SECTION("stopped") {
            channel.stop();
        }
        SECTION("destroyed") {}
    }
    it.checkUnharmed();
}

TEST_CASE("a channel whose blob crashes or leaves says so") {
    Fixture it;
    {
        Channel channel(it.injection, it.process.leader(), it.workspace);
        SECTION("crash") {
            CHECK_THROWS_WITH(channel.call(daemonblob::crash),
                              Catch::Contains("crashed with signal ") && Catch::Contains(" at offset "));
        }
        SECTION("leave") {
            CHECK_THROWS_AS(channel.call(daemonblob::leave), Error);
        }
    }
    it.checkUnharmed();
}

TEST_CASE("SIGSTOP for a process at work in a blob doesn't hang its channel") {
    Fixture it;
    {
        Channel channel(it.injection, it.process.leader(), it.workspace);
        REQUIRE(::kill(it.child.pid(), SIGSTOP) == 0);
        CHECK(channel.call(daemonblob::argument).result == 0);
        CHECK(channel.call(daemonblob::argument).result == 0);
        channel.stop();
    }
    REQUIRE(::kill(it.child.pid(), SIGCONT) == 0);
    it.checkUnharmed();
}

TEST_CASE("a process that has used up its descriptors can have a channel if its hard limit allows") {
    static constexpr rlim_t limitOfAll = 20;
    const auto hard = GENERATE(as<rlim_t>{}, limitOfAll, 64);
    Fixture it([hard](const Child::Talk& talk) {
        for (int fd = 0; fd < static_cast<int>(limitOfAll);)
            fd = ::dup(0);
        const rlimit limit{limitOfAll, hard};
        if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
            return 78;
        return waitForEnd(talk);
    });
    if (hard == limitOfAll) {
        CHECK_THROWS_WITH(Channel(it.injection, it.process.leader(), it.workspace),
                          Catch::Contains("descriptors are in use"));
    } else {
        Channel channel(it.injection, it.process.leader(), it.workspace, 9);
        CHECK(channel.call(daemonblob::argument).result == 9);
        CHECK(channel.call(daemonblob::echo, {}, std::array{0}).result == -EMFILE);
        channel.stop();
        rlimit after{};
        REQUIRE(::prlimit(it.child.pid(), RLIMIT_NOFILE, nullptr, &after) == 0);
        CHECK(after.rlim_cur == limitOfAll);
    }
    it.checkUnharmed();
}
