// SPDX-License-Identifier: LGPL-2.1-only
// Blobs that create a process or a descriptor for the tracer. The process keeps neither, whenever the tracer dies.
#include <compel/injection.hpp>
#include <compel/process.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "child.hpp"
#include "compel/test/blob/test_blob.hpp"
#include "compel_test_blob.hpp"
#include "killed_tracer.hpp"

using namespace compel;
using test::Child;

namespace {

constexpr std::uint64_t dataSize = 16384;
std::atomic<int> childEnds{0};

/// Child that must see no children, no SIGCHLD, and no new descriptor.
int seeNothing(const Child::Talk& talk) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++childEnds; };
    ::sigaction(SIGCHLD, &action, nullptr);
    const int unused = ::fcntl(0, F_DUPFD, 0);
    ::close(unused);
    talk.say("ready");
    talk.hear(std::chrono::hours(1));
    if (::waitpid(-1, nullptr, __WALL | WNOHANG) != -1 || errno != ECHILD)
        return 1;
    if (childEnds != 0)
        return 2;
    return ::fcntl(unused, F_GETFD) == -1 && errno == EBADF ? 0 : 3;
}

BlobRun startTask(Injection& injection, Tracee& thread, testblob::Task task, Pace pace) {
    testblob::Argument argument;
    argument.task = task;
    injection.memory().writeValue(injection.data(), argument);
    return injection.start(thread, injection.data(), injection.data() + dataSize, pace);
}

/// Lets a blob in the process create another process, and waits for the end of both. Returns the pid by the kernel's
/// event, and by clone(2).
std::pair<pid_t, std::int64_t> cloneOnce(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    Tracee& thread = process.leader();
    Injection injection(thread, testblob::blob, dataSize, process.syscallInstruction());
    SeizeOptions options = thread.options();
    options.stopAtClone = true;
    thread.setOptions(options);
    BlobRun run = startTask(injection, thread, testblob::Task::Clone, Pace::Free);
    const auto created = run.awaitClone();
    if (created) {
        Tracee clone = Tracee::bornTraced(*created, options);
        while (clone.waitStop().kind != StopInfo::Kind::Exited)
            clone.cont();
    }
    const std::int64_t result = run.finish();
    thread.setOptions({});
    injection.cure();
    process.detach();
    return {created.value_or(0), result};
}

/// Lets a blob in the process open and close a descriptor. Returns true if the descriptor was open when the run stopped
/// after the call.
bool openOnce(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    Injection injection(process.leader(), testblob::blob, dataSize, process.syscallInstruction());
    BlobRun run = startTask(injection, process.leader(), testblob::Task::Open, Pace::CallByCall);
    const auto number = run.awaitCall(SYS_eventfd2);
    const std::string file = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(number.value_or(-1));
    const bool open = ::faccessat(AT_FDCWD, file.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    const bool same = run.finish() == number;
    injection.cure();
    process.detach();
    return open && same;
}

}  // namespace

TEST_CASE("a process that a blob creates is traced from its birth, and reaped") {
    Child child(seeNothing);
    REQUIRE(child.hear() == "ready");
    const auto [created, returned] = cloneOnce(child.pid());
    CHECK(created > 0);
    CHECK(created == returned);
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a process whose tracer is killed anywhere reaps what its blob has created") {
    Child child(seeNothing);
    REQUIRE(child.hear() == "ready");
    test::dieEverywhere(child.pid(), [&] { cloneOnce(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a run stops after a system call of the blob") {
    Child child(seeNothing);
    REQUIRE(child.hear() == "ready");
    CHECK(openOnce(child.pid()));
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a process whose tracer is killed anywhere closes what its blob has opened") {
    Child child(seeNothing);
    REQUIRE(child.hear() == "ready");
    test::dieEverywhere(child.pid(), [&] { openOnce(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}
