// SPDX-License-Identifier: GPL-2.0-only
// Runs the /proc readers on the test program itself: real output of the kernel must parse, and agree with system calls.
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <thread>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/kcmp.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/kernel/proc/timers.hpp"
#include "criu/kernel/sched.hpp"

using namespace criu;
using namespace criu::kernel;

TEST_CASE("own status and stat agree with system calls, odd names included") {
    char before[16];
    REQUIRE(::prctl(PR_GET_NAME, before) == 0);
    const char* const odd = "a) R\n\\n (b\\";
    REQUIRE(::prctl(PR_SET_NAME, odd) == 0);
    const ProcPid self = ProcDir().open(::getpid());
    ProcBuffer buffer;
    const TaskStatus status = readThreadStatus(self, ::gettid(), buffer);
    const TaskStat stat = readStat(self.thread(::gettid()), buffer);
    ::prctl(PR_SET_NAME, before);
    CHECK(status.name == odd);
    CHECK(stat.comm == odd);
    CHECK(status.pid == ::gettid());
    CHECK(status.ppid == ::getppid());
    CHECK(status.uid.effective == ::geteuid());
    CHECK(status.nsPid.back() == ::getpid());
    CHECK(stat.pgrp == ::getpgid(0));
    CHECK(stat.session == ::getsid(0));
    CHECK(stat.startCode != 0);
    CHECK(stat.argStart < stat.argEnd);
}

TEST_CASE("a /proc directory of an ended process reads as an error, not as another process") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const ProcPid proc = ProcDir().open(child);
    ProcBuffer buffer;
    CHECK(readStatus(proc, buffer).pid == child);
    const PidFd pidfd(child);
    CHECK_FALSE(pidfd.waitExit());
    CHECK(pidfd.sendSignal(SIGKILL));
    CHECK(pidfd.waitExit(std::chrono::seconds(10)));
    CHECK(readStatus(proc, buffer).state == TaskState::Zombie);
    CHECK(readMaps(proc).empty());
    const siginfo_t info = pidfd.wait(WEXITED);
    CHECK(info.si_pid == child);
    CHECK(info.si_status == SIGKILL);
    CHECK_FALSE(pidfd.sendSignal(SIGKILL));
    CHECK_THROWS_AS(readStatus(proc, buffer), Error);
}

TEST_CASE("kcmp orders files, and tells duplicates from files opened twice") {
    const UniqueFd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd twin(::dup(one.get()));
    const pid_t self = ::getpid();
    CHECK(kcmpFile(self, one.get(), self, twin.get()) == std::partial_ordering::equivalent);
    const auto order = kcmpFile(self, one.get(), self, other.get());
    CHECK((order == std::partial_ordering::less || order == std::partial_ordering::greater));
    CHECK(kcmpFile(self, other.get(), self, one.get()) ==
          (order < 0 ? std::partial_ordering::greater : std::partial_ordering::less));
    CHECK(kernel::kcmp(self, self, KcmpType::Vm) == std::partial_ordering::equivalent);
    CHECK_THROWS_AS(kcmpFile(self, 9999, self, one.get()), Error);
}

TEST_CASE("own fdinfo, limits, namespaces and small files parse") {
    const ProcPid self = ProcDir().open(::getpid());
    ProcBuffer buffer;
    const UniqueFd event(::eventfd(0x1234, EFD_CLOEXEC | EFD_SEMAPHORE));
    const FdInfo info = readFdInfo(self, event.get(), buffer);
    CHECK((info.flags & O_CLOEXEC) != 0);
    CHECK(parseEventFd(info.text).count == 0x1234);
    const ResourceLimits limits = readLimits(self, buffer);
    rlimit nofile{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &nofile) == 0);
    CHECK(limits[RLIMIT_NOFILE].rlim_cur == nofile.rlim_cur);
    const NamespaceIds ids = readNamespaceIds(self);
    struct stat net {};
    REQUIRE(::stat("/proc/self/ns/net", &net) == 0);
    CHECK(ids.of(NamespaceKind::Net) == net.st_ino);
    CHECK(ids == readNamespaceIds(ProcDir().self()));
    CachedNamespaceIds fixed;
    CHECK(fixed.of(self, NamespaceKind::Net) == ids.of(NamespaceKind::Net));
    CHECK(fixed.of(self, NamespaceKind::Net) == ids.of(NamespaceKind::Net));
    CHECK(fixed.all(self) == ids);
    const auto auxv = readAuxv(self);
    CHECK(auxv.size() > 10);
    CHECK(auxv[auxv.size() - 2] == 0);
    CHECK_FALSE(readCgroups(self, buffer).empty());
    CHECK(readTimers(self, buffer).empty());
    CHECK(readOomScoreAdj(self) >= -1000);
    CHECK_NOTHROW(readLoginUid(self));
    CHECK_NOTHROW(readCoredumpFilter(self));
    CHECK_NOTHROW(readAutogroup(self));
    const auto fds = readDescriptors(self);
    CHECK(std::find(fds.begin(), fds.end(), event.get()) != fds.end());
    CHECK_THROWS_AS(readFdInfo(self, 9999, buffer), Error);
}

TEST_CASE("POSIX timers are listed with what they were created with") {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR2;
    event.sigev_value.sival_ptr = reinterpret_cast<void*>(0x1234567890ULL);
    event._sigev_un._tid = ::gettid();
    timer_t timer{};
    REQUIRE(::timer_create(CLOCK_BOOTTIME, &event, &timer) == 0);
    ProcBuffer buffer;
    const auto timers = readTimers(ProcDir().open(::getpid()), buffer);
    ::timer_delete(timer);
    REQUIRE(timers.size() == 1);
    CHECK(timers[0].signal == SIGUSR2);
    CHECK(timers[0].value == 0x1234567890ULL);
    CHECK(timers[0].notify == SIGEV_THREAD_ID);
    CHECK(timers[0].target == ::gettid());
    CHECK(timers[0].clock == CLOCK_BOOTTIME);
}

TEST_CASE("threads and children are found") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    ProcBuffer buffer;
    const ProcDir proc;
    const ProcPid self = proc.open(::getpid());
    CHECK(readChildren(self, ::gettid(), buffer) == std::vector<pid_t>{child});
    std::vector<pid_t> threads;
    std::thread([&] { threads = readThreads(self); }).join();
    CHECK(threads.size() >= 2);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST_CASE("processors in a list are counted") {
    CHECK(kernel::countCpus("0\n") == 1);
    CHECK(kernel::countCpus("0-3,6,8-9\n") == 7);
    CHECK_THROWS_AS((void)kernel::countCpus("3-1\n"), Error);
    CHECK_THROWS_AS((void)kernel::countCpus(""), Error);
    CHECK(kernel::onlineCpus() == static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST_CASE("processors in a list make a mask") {
    CHECK(kernel::cpuMask("0-3,65\n") == std::vector<std::uint64_t>{0xf, 2});
    CHECK(kernel::cpuMask("63\n") == std::vector{std::uint64_t{1} << 63});
    CHECK_THROWS_AS((void)kernel::cpuMask("70000000\n"), Error);
}

TEST_CASE("a thread is restricted to processors on which it may run") {
    const std::vector<std::uint64_t> own = kernel::cpuAffinity(0);
    const auto word = std::find_if(own.begin(), own.end(), [](std::uint64_t each) { return each != 0; });
    const auto first = (word - own.begin()) * 64 + std::countr_zero(*word);
    std::thread([&] {
        CHECK_FALSE(kernel::restrictThread("60000"));
        CHECK(kernel::cpuAffinity(0) == own);
        CHECK(kernel::restrictThread(fmt::format("{},60000\n", first)));
        const auto mask = kernel::cpuAffinity(0);
        CHECK(std::accumulate(mask.begin(), mask.end(), 0,
                              [](int sum, std::uint64_t each) { return sum + std::popcount(each); }) == 1);
    }).join();
    CHECK(kernel::cpuAffinity(0) == own);
}

TEST_CASE("own scheduling, affinity, robust list and limits agree with system calls") {
    const SchedAttributes attributes = schedAttributes(0);
    CHECK(attributes.policy == static_cast<std::uint32_t>(::sched_getscheduler(0)));
    errno = 0;
    CHECK(niceValue(0) == ::getpriority(PRIO_PROCESS, 0));
    cpu_set_t set;
    REQUIRE(::sched_getaffinity(0, sizeof(set), &set) == 0);
    const auto mask = cpuAffinity(0);
    for (std::size_t cpu = 0; cpu < std::min<std::size_t>(CPU_SETSIZE, mask.size() * 64); ++cpu)
        CHECK(((mask[cpu / 64] >> (cpu % 64)) & 1) == (CPU_ISSET(cpu, &set) ? 1 : 0));
    CHECK(robustList(0).head != 0);  // glibc registers one
    const ProcPid self = ProcDir().open(::getpid());
    ProcBuffer buffer;
    const ResourceLimits limits = readLimits(self, buffer);
    for (std::size_t resource = 0; resource < kRlimits; ++resource) {
        rlimit own{};
        REQUIRE(::getrlimit(static_cast<__rlimit_resource>(resource), &own) == 0);
        CHECK(limits[resource].rlim_cur == own.rlim_cur);
        CHECK(limits[resource].rlim_max == own.rlim_max);
    }
    CHECK_THROWS_AS(schedAttributes(-1), Error);
}

TEST_CASE("own mounts: the root is among them, and files are on mounts of the table") {
    const ProcPid self = ProcDir().open(::getpid());
    ProcBuffer buffer;
    const MountTable table = readMountInfo(self, buffer);
    const UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const FdInfo info = readFdInfo(self, root.get(), buffer);
    REQUIRE(info.mountId.has_value());
    const MountInfo* const mount = table.find(*info.mountId);
    REQUIRE(mount != nullptr);
    CHECK(mount->mountPoint == "/");
}
