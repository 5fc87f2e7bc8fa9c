// SPDX-License-Identifier: LGPL-2.1-only
#include "compel/test/blob/test_blob.hpp"

#include <compel/blob/syscall.hpp>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

namespace {

using compel::blob::syscall;
using testblob::Argument;
using testblob::Task;

std::int64_t identify(Argument& argument) {
    argument.pid = static_cast<std::int32_t>(syscall(SYS_getpid));
    argument.tid = static_cast<std::int32_t>(syscall(SYS_gettid));
    return argument.tid;
}

std::int64_t sum(const Argument& argument) {
    const Argument copy = argument;
    std::uint64_t total = 0;
    for (const auto number : copy.numbers)
        total += number;
    return static_cast<std::int64_t>(total);
}

/// Creates a process without exit signal, which ends at once, and reaps it. Returns its pid.
std::int64_t cloneAndReap() {
    const std::int64_t pid = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (pid == 0)
        for (;;)
            syscall(SYS_exit_group, 0);
    return syscall(SYS_wait4, pid, nullptr, __WALL, nullptr);
}

/// Opens a descriptor and closes it. Returns its number.
std::int64_t openAndClose() {
    const std::int64_t number = syscall(SYS_eventfd2, 0, 0);
    syscall(SYS_close, number);
    return number;
}

}  // namespace

extern "C" std::int64_t blob_entry(void* pointer) {
    auto& argument = *static_cast<Argument*>(pointer);
    switch (argument.task) {
        case Task::Identify:
            return identify(argument);
        case Task::Sum:
            return sum(argument);
        case Task::Crash:
            *reinterpret_cast<volatile int*>(argument.numbers[0]) = 1;
            return 0;
        case Task::Spin:
            for (;;)
                asm volatile("");
        case Task::Block:
            for (;;)
                syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
        case Task::Await:
            while (__atomic_load_n(&argument.numbers[0], __ATOMIC_ACQUIRE) == 0) {
                timespec millisecond{0, 1'000'000};
                syscall(SYS_ppoll, nullptr, 0, &millisecond, nullptr, 0);
            }
            return 0;
        case Task::Clone:
            return cloneAndReap();
        case Task::Open:
            return openAndClose();
    }
    return -1;
}

extern "C" [[gnu::visibility("default")]] std::int64_t second_entry(void*) {
    return 2;
}
