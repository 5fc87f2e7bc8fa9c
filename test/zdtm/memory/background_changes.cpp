// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore tree, .*
// zdtm: modes once, five, leave-running, background, background-stopped
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "zdtm.hpp"

namespace {

constexpr std::size_t kPages = 4096;
constexpr std::size_t kWriters = 2;

// Memory that one thread rewrites page by page in rounds. A snapshot of one moment has the present round in the first
// pages and the previous round in the others. A pipe holds the number of the round.
class Writer {
public:
    Writer() : memory_(zdtm::map(kPages * zdtm::page_size())) {
        SYS(pipe(pipe_));
        for (std::size_t page = 0; page < kPages; ++page) {
            words(page)[0] = 0;
            words(page)[kLast] = 0;
        }
    }

    void run(const std::atomic<bool>& stop) {
        for (std::uint64_t round = 1; !stop; ++round) {
            CHECK(write(pipe_[1], &round, sizeof round) == sizeof round, "the pipe: %s", strerror(errno));
            for (std::size_t page = 0; page < kPages && !stop; ++page) {
                volatile std::uint64_t* const at = words(page);
                CHECK(at[0] == round - 1 && at[kLast] == round - 1, "page %zu is of round %lu or %lu, not of %lu", page,
                      at[0], at[kLast], round - 1);
                at[0] = round;
                at[kLast] = round;
            }
            std::uint64_t told = 0;
            CHECK(read(pipe_[0], &told, sizeof told) == sizeof told, "the pipe: %s", strerror(errno));
            CHECK(told == round, "the pipe says round %lu, not %lu", told, round);
        }
    }

private:
    static constexpr std::size_t kLast = 4096 / sizeof(std::uint64_t) - 1;

    [[nodiscard]] volatile std::uint64_t* words(std::size_t page) const {
        return reinterpret_cast<volatile std::uint64_t*>(memory_.data() + page * zdtm::page_size());
    }

    std::span<std::byte> memory_;
    int pipe_[2] = {};
};

std::atomic<int> ends{0};

void note_end(int) {
    ++ends;
}

// A process that never had a child must not see one of criu, not even for a moment.
void look_for_children() {
    errno = 0;
    CHECK(waitpid(-1, nullptr, __WALL | WNOHANG) == -1 && errno == ECHILD, "there is a child");
    CHECK(ends == 0, "SIGCHLD came");
    CHECK(zdtm::read_file("/proc/thread-self/children").empty(), "/proc shows a child");
}

}  // namespace

ZDTM("memory and pipes that threads change all the time: images show one moment, and the tree sees no child of criu") {
    struct sigaction action {};
    action.sa_handler = note_end;
    SYS(sigaction(SIGCHLD, &action, nullptr));
    std::array<Writer, kWriters> writers;
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (Writer& writer : writers) {
        threads.emplace_back([&] { writer.run(stop); });
    }
    me.ready();
    while (!me.triggered()) {
        look_for_children();
        usleep(200);
    }
    stop = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    look_for_children();
    struct sigaction now {};
    SYS(sigaction(SIGCHLD, nullptr, &now));
    CHECK(now.sa_handler == note_end && (now.sa_flags & SA_NOCLDWAIT) == 0, "what SIGCHLD does has changed");
}
