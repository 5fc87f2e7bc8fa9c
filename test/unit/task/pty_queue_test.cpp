// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/pty_queue.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

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

    void type(std::string_view text) const { (void)::write(master.get(), text.data(), text.size()); }
    void print(std::string_view text) const { (void)::write(slave.get(), text.data(), text.size()); }
};

/// Process that sleeps until the end of the test.
class Sleeper {
public:
    Sleeper() : pid(::fork()) {
        if (pid != 0)
            return;
        for (;;)
            ::pause();
    }
    ~Sleeper() {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    const pid_t pid;
};

/// Calls `work` in a child process, and kills this process at its system call stop `number`, counted from 0. Returns
/// false if the process ended before this stop.
bool dieAt(unsigned number, const std::function<bool()>& work) {
    const pid_t worker = ::fork();
    if (worker == 0) {
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        ::raise(SIGSTOP);
        bool done = false;
        try {
            done = work();
        } catch (const std::exception&) {
            ::_exit(2);
        }
        ::_exit(done ? 0 : 1);
    }
    int status = 0;
    ::waitpid(worker, &status, 0);
    ::ptrace(PTRACE_SETOPTIONS, worker, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    unsigned seen = 0;
    for (int signal = 0;;) {
        ::ptrace(PTRACE_SYSCALL, worker, nullptr, signal);
        ::waitpid(worker, &status, 0);
        if (!WIFSTOPPED(status)) {
            CHECK(status == 0);
            return false;
        }
        const bool isSyscall = WSTOPSIG(status) == (SIGTRAP | 0x80);
        signal = isSyscall ? 0 : WSTOPSIG(status);
        if (isSyscall && seen++ == number) {
            ::kill(worker, SIGKILL);
            ::waitpid(worker, &status, 0);
            return true;
        }
    }
}

bool eventually(const std::function<bool()>& done) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
         std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
        if (done())
            return true;
    return false;
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
    const Sleeper sleeper;
    pty.type("one\n\x16\x03two\nend\x04rest");
    pty.print("said\n");
    REQUIRE(eventually([&] { return kernel::waitingBytes(pty.slave.get()) == 12; }));
    const auto settings = *kernel::readLineSettings(pty.slave.get());
    const auto printed = kernel::waitingBytes(pty.master.get());
    const int flags = ::fcntl(pty.master.get(), F_GETFL);
    kernel::setPacketMode(pty.master.get(), true);
    const auto exchange = [&] {
        auto process = compel::FrozenProcess::freeze(sleeper.pid);
        const auto found = exchangeInside(process, pty.master.get());
        process.detach();
        return found && found->lost == 0 && textOf(found->input) == "one\n\x03two\nendrest" &&
               found->input.endsOfFile.size() == 1 && found->settings == settings;
    };
    for (unsigned number = 0; dieAt(number, exchange); ++number) {
        INFO("killed at stop " << number);
        REQUIRE(eventually([&] {
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
