// SPDX-License-Identifier: GPL-2.0-only
// Processes whose main thread ends while another thread lives.
#ifndef ZDTM_ENDED_LEADER_HPP
#define ZDTM_ENDED_LEADER_HPP

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "zdtm.hpp"

namespace zdtm {

// Runs `body` in a new thread, and ends the calling main thread by exit(2) with `code`. When `body` returns, the
// process ends with status 0.
[[noreturn]] inline void end_main_thread(int code, std::function<void()> body) {
    static std::function<void()> work;
    work = std::move(body);
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            work();
            _exit(0);
        },
        nullptr);
    syscall(SYS_exit, code);
    __builtin_unreachable();
}

// Waits until the main thread of the calling process is a zombie.
inline void await_main_end() {
    const std::string status = "/proc/" + std::to_string(getpid()) + "/status";
    while (status_field(status, "State").front() != 'Z')
        usleep(1000);
}

// Returns the line "Name" of the main thread's status.
inline std::string main_status(const std::string& name) {
    return status_field("/proc/" + std::to_string(getpid()) + "/status", name);
}

}  // namespace zdtm

#endif  // ZDTM_ENDED_LEADER_HPP
