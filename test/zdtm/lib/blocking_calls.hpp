// SPDX-License-Identifier: GPL-2.0-only
// Threads that each block in another system call.
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
        Lasting,  // calls that block until an event from outside
        Sends,    // calls that send to full sockets; a restored socket may take a little more
    };

    // Starts the threads. Returns when each one is blocked.
    explicit BlockingCalls(Kind kind);

    // Waits until each thread is blocked or its call has returned. Fails if a call has returned.
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
    void add_old_waits();
    void add_waits();
    void add_ipc();
    void start();

    std::deque<Call> calls_;
};

}  // namespace zdtm
