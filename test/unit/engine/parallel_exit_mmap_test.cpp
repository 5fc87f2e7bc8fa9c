// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/parallel_exit_mmap.hpp"

#include <catch2/catch.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <optional>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"

using namespace criu;

namespace {

constexpr std::size_t kLarge = std::size_t{320} << 20;
constexpr std::size_t kSmall = std::size_t{1} << 20;

/// Child of this process with `size` bytes of memory, and with a mutex in shared memory.
class Child {
public:
    Child(std::size_t bytes, bool holdsMutex)
        : mutex_(static_cast<pthread_mutex_t*>(
              ::mmap(nullptr, sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        pthread_mutexattr_t attributes;
        ::pthread_mutexattr_init(&attributes);
        ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        REQUIRE(::pthread_mutex_init(mutex_, &attributes) == 0);
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            void* const memory =
                ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
            if (memory == MAP_FAILED || (holdsMutex && ::pthread_mutex_lock(mutex_) != 0))
                ::_exit(1);
            (void)!::write(ends[1], "x", 1);
            for (;;)
                ::pause();
        }
        ::close(ends[1]);
        char ready = 0;
        REQUIRE(::read(ends[0], &ready, 1) == 1);
        ::close(ends[0]);
        tree_->freeze(HostPid(pid_), std::nullopt, [](HostPid) {});
    }
    ~Child() {
        tree_.reset();  // while it is traced, its end isn't reported to other processes
        ::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, __WALL);
        ::munmap(mutex_, sizeof(pthread_mutex_t));
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void killAndFreeMemory(unsigned cores = 4) {
        engine::FrozenTask* const task = tree_->tasks().front().get();
        engine::ParallelExitMmap mmap({&task, 1}, cores);
        for (engine::FrozenTask* const large : mmap.tasks())
            large->process->beginKill();
        mmap.freeMemory();
    }
    [[nodiscard]] std::uint64_t memory() const {
        kernel::ProcBuffer buffer;
        return kernel::readStatus(kernel::ProcDir().open(pid_), buffer).vmRss.value_or(0);
    }
    /// Kills the child. Returns whether it has ended; its parent is its tracer, and has reaped it.
    [[nodiscard]] bool kill() {
        CHECK_FALSE(tree_->kill());
        return ::kill(pid_, 0) < 0 && errno == ESRCH;
    }
    /// Returns the result of waiting for the mutex, within some seconds.
    [[nodiscard]] int lock() const {
        timespec end{};
        ::clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += 10;
        return ::pthread_mutex_timedlock(mutex_, &end);
    }

private:
    pthread_mutex_t* mutex_;
    pid_t pid_ = -1;
    StopRequest stop_;
    Log log_;
    std::optional<engine::FrozenTree> tree_{std::in_place, std::chrono::seconds(10), stop_, log_};
};

bool kernelFreesMemory() {
    return ::syscall(SYS_process_mrelease, -1, 0) == 0 || errno != ENOSYS;  // Linux 5.15
}

}  // namespace

TEST_CASE("the memory of a large process is freed before it ends", "[freed_memory]") {
    if (!kernelFreesMemory()) {
        WARN("skipped: the kernel has no process_mrelease(2)");
        return;
    }
    Child child(kLarge, false);
    CHECK(child.memory() >= kLarge);
    child.killAndFreeMemory();
    CHECK(child.memory() < kLarge / 4);
    CHECK(child.kill());
}

TEST_CASE("a process whose memory was freed ends with its tracer", "[freed_memory]") {
    Child child(kLarge, false);
    child.killAndFreeMemory();
}

TEST_CASE("a process without much memory is left to end by itself", "[freed_memory]") {
    Child child(kSmall, false);
    const std::uint64_t before = child.memory();
    if (before >= kLarge / 2) {
        WARN("skipped: with sanitizers this process itself has much memory");
        return;
    }
    child.killAndFreeMemory();
    CHECK(child.memory() == before);
    CHECK(child.kill());
}

TEST_CASE("two cores leave a large process to end by itself", "[freed_memory]") {
    Child child(kLarge, false);
    child.killAndFreeMemory(2);
    CHECK(child.memory() >= kLarge);
    CHECK(child.kill());
}

TEST_CASE("others learn that a large process that was killed had a mutex", "[freed_memory]") {
    Child child(kLarge, true);
    child.killAndFreeMemory();
    CHECK(child.memory() >= kLarge);
    CHECK(child.kill());
    CHECK(child.lock() == EOWNERDEAD);
}
