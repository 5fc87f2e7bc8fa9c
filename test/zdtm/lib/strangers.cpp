// SPDX-License-Identifier: GPL-2.0-only
#include "strangers.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include "zdtm.hpp"

namespace zdtm {
namespace {

// A new pid namespace gives pids in ascending order, so no pid is higher.
constexpr pid_t highest = 300;

}  // namespace

struct StrangerWatch::Seen {
    unsigned rounds;
    pid_t stranger;
    bool traced;
};

StrangerWatch::StrangerWatch() {
    const std::span<std::byte> memory = map(page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    seen_ = reinterpret_cast<Seen*>(memory.data());
    CHECK(getpid() == 1, "it is process %d", getpid());
    watcher_ = SYS(fork());
    if (watcher_ == 0) {
        const pid_t self = getpid();
        for (;;) {
            for (pid_t pid = 2; pid < highest; ++pid) {
                if (pid == self || (kill(pid, 0) < 0 && errno == ESRCH))
                    continue;
                if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0)
                    seen_->traced = true;
                seen_->stranger = pid;
            }
            seen_->rounds = seen_->rounds + 1;
        }
    }
    while (seen_->rounds == 0)
        usleep(1000);
}

void StrangerWatch::finish() {
    const unsigned before = seen_->rounds;
    while (seen_->rounds - before < 2)
        usleep(1000);
    kill_and_reap(watcher_);
    CHECK(seen_->stranger == 0, "process %d was there%s", seen_->stranger,
          seen_->traced ? ", and could be traced" : "");
}

}  // namespace zdtm
