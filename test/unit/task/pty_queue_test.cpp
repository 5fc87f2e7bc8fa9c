// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/pty_queue.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string_view>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"

using namespace criu;
using namespace criu::tty;

namespace {

struct Pty {
    UniqueFd master{sys(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), "open /dev/ptmx")};
    UniqueFd slave;

    Pty() {
        kernel::setPtyLocked(master.get(), false);
        slave = openPrivateSlave(master.get());
    }
};

}  // namespace

TEST_CASE("bytes that were read from a terminal are kept when reading fails", "[tty]") {
    // Behaves like a terminal to which a process writes without end.
    const UniqueFd endless(sys(::open("/dev/zero", O_RDONLY | O_CLOEXEC), "open /dev/zero"));
    Queued output;
    CHECK_THROWS_AS(takeOutput(endless.get(), output), Error);
    CHECK(output.bytes.size() > std::size_t{1} << 20);
    CHECK(std::all_of(output.bytes.begin(), output.bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("a terminal has its settings also when something can't be put back", "[tty]") {
    const Pty pty;
    const auto settings = *kernel::readLineSettings(pty.slave.get());
    const UniqueFd unwritable(kernel::openSlaveOf(pty.master.get(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(unwritable);
    Queued output;
    output.bytes.assign(10, std::byte{'x'});
    CHECK_THROWS_AS((void)putQueues(pty.master.get(), unwritable.get(), output, {}, settings), Error);
    CHECK(kernel::readLineSettings(pty.slave.get()) == settings);
}

TEST_CASE("bytes that are written to a terminal arrive unchanged", "[tty]") {
    const Pty pty;
    const auto settings = *kernel::readLineSettings(pty.slave.get());
    Queued input;
    for (const char byte : std::string_view("one\ntwo\x03\nunfinished"))
        input.bytes.push_back(std::byte(byte));
    CHECK(putQueues(pty.master.get(), pty.slave.get(), {}, input, settings) == 0);
    Queued again;
    takeInput(pty.slave.get(), again);
    CHECK(again.bytes == input.bytes);
    CHECK(again.endsOfFile.empty());
    CHECK(kernel::readLineSettings(pty.slave.get()) == settings);
}
