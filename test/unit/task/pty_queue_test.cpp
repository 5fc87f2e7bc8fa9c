// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/pty_queue.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "compel/test/child.hpp"
#include "compel/test/killed_tracer.hpp"
#include "criu/base/error.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/pty_exchange.hpp"

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

    void type(std::string_view text) const { (void)::write(master.get(), text.data(), text.size()); }
    void print(std::string_view text) const { (void)::write(slave.get(), text.data(), text.size()); }
};

/// Child that waits for the end of the test.
int waitForEnd(const compel::test::Child::Talk& talk) {
    talk.say("ready");
    talk.hear(std::chrono::hours(1));
    return 0;
}

std::string textOf(const Queued& queued) {
    return {reinterpret_cast<const char*>(queued.bytes.data()), queued.bytes.size()};
}

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

TEST_CASE("a process keeps the bytes that wait in its terminal when criu is killed anywhere", "[tty]") {
    const Pty pty;
    const compel::test::Child child(waitForEnd);
    REQUIRE(child.hear() == "ready");
    pty.type("one\n\x16\x03two\nend\x04rest");
    pty.print("said\n");
    REQUIRE(compel::test::eventually([&] { return kernel::waitingBytes(pty.slave.get()) == 12; }));
    const auto settings = *kernel::readLineSettings(pty.slave.get());
    const auto printed = kernel::waitingBytes(pty.master.get());
    const int flags = ::fcntl(pty.master.get(), F_GETFL);
    kernel::setPacketMode(pty.master.get(), true);
    const auto exchange = [&] {
        auto process = compel::FrozenProcess::freeze(child.pid());
        const auto found = exchangeInside(process, pty.master.get(), [](std::size_t) {});
        process.detach();
        if (!found || found->lost != 0 || textOf(found->input) != "one\n\x03two\nendrest" ||
            found->input.endsOfFile.size() != 1)
            throw std::runtime_error("the process didn't exchange the bytes");
    };
    for (unsigned number = 0; compel::test::dieAt(number, exchange); ++number) {
        INFO("killed at stop " << number);
        REQUIRE(compel::test::eventually([&] {
            return kernel::waitingBytes(pty.slave.get()) == 12 && kernel::waitingBytes(pty.master.get()) == printed &&
                   kernel::readLineSettings(pty.slave.get()) == settings &&
                   ::fcntl(pty.master.get(), F_GETFL) == flags && kernel::inPacketMode(pty.master.get());
        }));
    }
    kernel::setPacketMode(pty.master.get(), false);
    Queued input;
    Queued output;
    takeOutput(pty.master.get(), output);
    takeInput(pty.slave.get(), input);
    CHECK(textOf(input) == "one\n\x03two\nendrest");
    CHECK(input.endsOfFile == std::vector<std::uint32_t>{12});
    CHECK(output.bytes.size() == printed);
}

TEST_CASE("bytes aren't lost without a word when a process can read them but not write them", "[tty]") {
    const Pty pty;
    const compel::test::Child child([](const compel::test::Child::Talk& talk) {
        talk.say("ready");
        // Raises SIGSYS for write(2).
        sock_filter program[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog all{4, program};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
            return 1;
        talk.say("filtered");
        talk.hear(std::chrono::hours(1));
        return 0;
    });
    REQUIRE(child.hear() == "ready");
    REQUIRE(child.hear() == "filtered");
    pty.type("one\n");
    REQUIRE(compel::test::eventually([&] { return kernel::waitingBytes(pty.slave.get()) == 4; }));
    auto process = compel::FrozenProcess::freeze(child.pid());
    CHECK_THROWS_AS((void)exchangeInside(process, pty.master.get(), [](std::size_t) {}), compel::Error);
}

TEST_CASE("a terminal whose images have no speed gets one", "[tty]") {
    const Pty pty;
    kernel::LineSettings settings = *kernel::readLineSettings(pty.slave.get());
    constexpr std::uint32_t speeds = 0010017;  // CBAUD of asm/termbits.h
    constexpr std::uint32_t other = 0010000;   // BOTHER
    settings.control = (settings.control & ~speeds) | other;
    settings.inputSpeed = settings.outputSpeed = 0;
    CHECK(putQueues(pty.master.get(), pty.slave.get(), {}, {}, settings) == 0);
    CHECK((kernel::readLineSettings(pty.slave.get())->control & speeds) == B38400);
}

namespace {

int watched = -1;     ///< descriptor that pausing functions must leave blocking
int pauses = 0;       ///< number of pauses
int nonblocking = 0;  ///< number of pauses during which the descriptor had O_NONBLOCK

std::int64_t watchCall(std::int64_t number, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    if (number == SYS_clock_nanosleep) {
        ++pauses;
        nonblocking += (::fcntl(watched, F_GETFL) & O_NONBLOCK) != 0 ? 1 : 0;
    }
    return pie::rawCall(number, a, b, c, d);
}

}  // namespace

TEST_CASE("a terminal is blocking while criu waits for room in its queue", "[tty]") {
    const Pty pty;
    const UniqueFd blocking(kernel::openSlaveOf(pty.master.get(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(blocking);
    constexpr std::uint64_t limit = std::uint64_t{1} << 18;  // more than the kernel queues
    std::vector<std::uint32_t> memory(pie::ptyBufferSize(limit) / sizeof(std::uint32_t));
    pie::PtyJob job;
    job.master = pty.master.get();
    job.slave = watched = blocking.get();
    pie::placePtyBuffers(job, reinterpret_cast<std::uint64_t>(memory.data()), limit);
    job.output.size = limit;
    job.settings = std::bit_cast<pie::PtySettings>(*kernel::readLineSettings(blocking.get()));
    pie::PtyExchange<watchCall>(job).put();
    CHECK(job.failed == pie::PtyStep::None);
    CHECK(job.lost > 0);
    CHECK(pauses > 0);
    CHECK(nonblocking == 0);
}
