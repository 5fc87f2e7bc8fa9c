// SPDX-License-Identifier: GPL-2.0-only
// Threads that are each blocked in another system call.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>
#include <functional>
#include <string>

namespace zdtm {

class BlockingCalls {
public:
    enum class Kind {
        Lasting,  // that go on until something happens from outside
        Sends,    // to sockets that take no more: those of a restore may take a little
    };

    // Starts the threads, and returns when each is blocked.
    explicit BlockingCalls(Kind kind);

    // Waits until each thread is blocked or its call has returned, and fails if one has.
    void check_blocked();

private:
    struct Call {
        std::string name;
        long number;
        std::function<long()> make;
        std::atomic<pid_t> thread{0};
        std::atomic<bool> returned{false};
        long result = 0;
        int error = 0;
    };
    static void* run(void* call);
    static bool is_blocked(const Call& call);
    void add(const char* name, long number, std::function<long()> make);
    void add_files();
    void add_sockets();
    void add_sends();
    void add_waits();
    void add_ipc();
    void start();

    std::deque<Call> calls_;
};

}  // namespace zdtm
