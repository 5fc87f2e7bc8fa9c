// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/progress.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include "criu/base/unique_fd.hpp"

using namespace criu;
using namespace criu::engine;
using namespace std::chrono_literals;

namespace {

struct Pipe {
    UniqueFd reader;
    UniqueFd writer;
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
            throw std::runtime_error("pipe");
        reader.reset(ends[0]);
        writer.reset(ends[1]);
    }
    std::string take() const {
        char buffer[4096];
        const ssize_t count = ::read(reader.get(), buffer, sizeof(buffer));
        return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : std::string();
    }
};

}  // namespace

TEST_CASE("the line shows amount, share and average rate in fitting units") {
    CHECK(Progress::line("Dumping", 3ULL << 29, 4ULL << 30, 2s) ==
          "Dumping: 1.50 of 4.00 GiB (38 %), 768.00 MiB/s, 4 s left");
    CHECK(Progress::line("Dumping", 1 << 20, 201 << 20, 1s) ==
          "Dumping: 1.00 of 201.00 MiB (0 %), 1.00 MiB/s, 3 min 20 s left");
    CHECK(Progress::line("Dumping", 1 << 20, 1ULL << 33, 1s) ==
          "Dumping: 0.00 of 8.00 GiB (0 %), 1.00 MiB/s, 2 h 16 min left");
    CHECK(Progress::line("Dumping", 3 << 20, 2 << 20, 1s) == "Dumping: 3.00 of 3.00 MiB (100 %), 3.00 MiB/s");
    CHECK(Progress::line("Restoring", 512, 0, 1s) == "Restoring: 512.00 B, 512.00 B/s");
    CHECK(Progress::line("Restoring", 3 << 10, 0, 0s) == "Restoring: 3.00 KiB, 0.00 B/s");
}

TEST_CASE("the line comes late, seldom, and goes") {
    const Pipe pipe;
    std::atomic<std::uint64_t> done{0};
    const std::atomic<std::uint64_t> total{2048};
    const Progress::Time start{};
    {
        Progress progress("Dumping", done, pipe.writer.get(), total, start);
        progress.tick(start + 499ms);
        CHECK(pipe.take().empty());
        done = 1024;
        progress.tick(start + 500ms);
        CHECK(pipe.take() == "Dumping: 1.00 of 2.00 KiB (50 %), 2.00 KiB/s, 1 s left\033[K\r");
        progress.tick(start + 699ms);
        CHECK(pipe.take().empty());
        done = 2048;
        progress.tick(start + 1s);
        CHECK(pipe.take() == "Dumping: 2.00 of 2.00 KiB (100 %), 2.00 KiB/s\033[K\r");
    }
    CHECK(pipe.take() == "\033[K");
}

TEST_CASE("without a terminal, or when it never was time, nothing is written") {
    const Pipe pipe;
    std::atomic<std::uint64_t> done{0};
    const std::atomic<std::uint64_t> total{0};
    const Progress::Time start{};
    {
        Progress quick("Dumping", done, pipe.writer.get(), total, start);
        quick.tick(start + 1ms);
        Progress none("Dumping", done, -1, total, start);
        none.startThread();
        none.tick(start + 1h);
    }
    CHECK(pipe.take().empty());
}

TEST_CASE("a thread keeps the line up to date") {
    const Pipe pipe;
    const std::atomic<std::uint64_t> done{1024};
    const std::atomic<std::uint64_t> total{2048};
    std::string seen;
    {
        Progress progress("Dumping", done, pipe.writer.get(), total, std::chrono::steady_clock::now() - 1h);
        progress.startThread();
        for (int tries = 0; seen.empty() && tries < 1000; ++tries) {
            ::usleep(10000);
            seen = pipe.take();
        }
    }
    CHECK(seen.starts_with("Dumping: 1.00 of 2.00 KiB (50 %), "));
}

TEST_CASE("the user's options may turn the line off") {
    model::Options options;
    options.quiet = true;
    CHECK(Progress::terminal(options) == -1);
    options.quiet = false;
    options.verbosity = LogLevel::Message;
    CHECK(Progress::terminal(options) == -1);
    options.verbosity = LogLevel::Debug;  // the log goes to standard error itself
    CHECK(Progress::terminal(options) == -1);
}
