// SPDX-License-Identifier: LGPL-2.1-only
// Kills a tracer of a stopped process. Signals must then end the process' interrupted call as without a tracer.
#if defined(__x86_64__)
#include <compel/process.hpp>

#include <catch2/catch.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>

#include "child.hpp"
#include "killed_tracer.hpp"
#include "traced_work.hpp"

using namespace compel;
using test::Child;

namespace {

/// Exit status of callAndEnd() if the call ends with EINTR, or with a result after it has started again.
constexpr int endedCall = 10;
constexpr int repeatedCall = 11;

/// Number of signals that the child has handled. The test and the child share it.
std::atomic<int>& taken() {
    static std::atomic<int>* const counter = static_cast<std::atomic<int>*>(
        ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    return *counter;
}

/// Child that handles SIGUSR1 and SIGCONT, and blocks in a call that input from the test ends.
int callAndEnd(const Child::Talk& talk, int flags, int file, const std::function<long()>& call) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++taken(); };
    action.sa_flags = flags;
    ::sigaction(SIGUSR1, &action, nullptr);
    ::sigaction(SIGCONT, &action, nullptr);
    talk.say("ready");
    const long result = call();
    const int code = errno;
    char byte = 0;
    if (result < 0)
        return code == EINTR && taken() > 0 && ::read(file, &byte, 1) == 1 ? endedCall : 90;
    return taken() > 0 ? repeatedCall : 91;
}

/// Stops a child in a blocked call, and kills its tracer at the stop `number` of `work`. Returns the child's exit
/// status, or nothing if the tracer ended before this stop. `signal`: signal that is pending in the stopped child; 0
/// for none. `marked`: see dieAt().
std::optional<int> resultAfterDeath(unsigned number, bool waits, int flags, int signal, bool marked) {
    int line[2];
    REQUIRE(::pipe(line) == 0);
    taken() = 0;
    Child child([&](const Child::Talk& talk) {
        return callAndEnd(talk, flags, line[0], [&]() -> long {
            char byte = 0;
            if (!waits)
                return ::read(line[0], &byte, 1);
            pollfd ready{line[0], POLLIN, 0};
            return ::ppoll(&ready, 1, nullptr, nullptr);
        });
    });
    REQUIRE(child.hear() == "ready");
    child.awaitState('S');
    ::kill(child.pid(), SIGSTOP);
    child.awaitState('T');
    if (signal != 0)
        ::kill(child.pid(), signal);
    const bool died = test::dieAt(
        number,
        [&] {
            auto process = FrozenProcess::freeze(child.pid());
            test::beginCount();
            test::workOn(process);
        },
        marked);
    ::kill(child.pid(), SIGCONT);
    REQUIRE(test::eventually(
        [&] { return test::statusOf(child.pid(), "SigPnd").find_first_not_of("0 \t\n") == std::string::npos; }));
    REQUIRE(::write(line[1], "x", 1) == 1);
    const int code = child.exitCode().value();
    ::close(line[0]);
    ::close(line[1]);
    return died ? std::optional(code) : std::nullopt;
}

}  // namespace

TEST_CASE("a signal that is pending for a stopped process ends its call after the tracer's death") {
    struct Case {
        bool waits;
        int flags;
        int signal;
        bool marked;
        int wanted;
    };
    // Where SA_RESTART decides, begins after the freeze, in which the tracer asks for it.
    const Case each = GENERATE(Case{true, SA_RESTART, SIGUSR1, false, endedCall}, Case{true, 0, 0, false, endedCall},
                               Case{false, 0, SIGUSR1, true, endedCall}, Case{false, 0, 0, true, endedCall},
                               Case{false, SA_RESTART, SIGUSR1, false, repeatedCall});
    CAPTURE(each.waits, each.flags, each.signal);
    for (unsigned number = 0;; ++number) {
        INFO("killed at stop " << number);
        const auto result = resultAfterDeath(number, each.waits, each.flags, each.signal, each.marked);
        if (!result)
            break;
        REQUIRE(*result == each.wanted);
    }
}
#endif
