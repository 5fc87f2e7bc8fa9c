// SPDX-License-Identifier: GPL-2.0-only
// Processes that scripts/demo dumps and restores. Each appends one line per tick to a report. The script reads there
// whether anything was lost, repeated or changed.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 100ms;
constexpr std::size_t kWords = std::size_t{64} << 17;  // 64 MiB

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::exit(1);
}

/// FNV-1a over words.
std::uint64_t checksum(std::span<const std::uint64_t> words) {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (const std::uint64_t word : words)
        sum = (sum ^ word) * 0x100000001b3;
    return sum;
}

/// Returns random words, different in each run.
std::vector<std::uint64_t> randomWords(std::size_t count) {
    std::uint64_t seed = 0;
    if (::getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        die("getrandom");
    std::vector<std::uint64_t> words(count);
    std::generate(words.begin(), words.end(), std::mt19937_64(seed));
    return words;
}

class Report {
public:
    explicit Report(const char* path) : fd_(::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) {
        if (fd_ < 0)
            die(path);
    }
    /// Writes at the descriptor's offset, so that a restored process continues where the dumped one was.
    void line(const std::string& text) const {
        if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            die("report");
    }

private:
    int fd_;
};

/// A file that was deleted while it is open.
class NamelessFile {
public:
    explicit NamelessFile(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        const std::vector<std::uint64_t> words = randomWords(kFileWords);
        if (fd_ < 0 || ::write(fd_, words.data(), kFileBytes) != kFileBytes || ::unlink(path.c_str()) != 0)
            die(path.c_str());
    }
    [[nodiscard]] std::uint64_t sum() const {
        std::array<std::uint64_t, kFileWords> words{};
        struct stat status {};
        if (::pread(fd_, words.data(), kFileBytes, 0) != kFileBytes || ::fstat(fd_, &status) != 0 ||
            status.st_nlink != 0)
            die("file without a name");
        return checksum(words);
    }

private:
    static constexpr std::size_t kFileWords = 512;
    static constexpr ssize_t kFileBytes = kFileWords * sizeof(std::uint64_t);
    int fd_;
};

/// Uses much memory, threads that count, and a deleted file.
void calculate(const char* path) {
    const Report report(path);
    const std::vector<std::uint64_t> memory = randomWords(kWords);
    const NamelessFile file(std::string(path) + ".deleted");
    std::array<std::atomic<std::uint64_t>, 3> counters{};
    std::vector<std::jthread> threads;
    for (std::atomic<std::uint64_t>& counter : counters)
        threads.emplace_back([&counter] {
            for (;;) {
                ++counter;
                std::this_thread::sleep_for(1ms);
            }
        });
    for (unsigned count = 1;; ++count) {
        std::array<char, 200> line{};
        std::snprintf(line.data(), line.size(), "count=%u threads=%lu,%lu,%lu memory=%016lx deleted-file=%016lx\n",
                      count, counters[0].load(), counters[1].load(), counters[2].load(), checksum(memory), file.sum());
        report.line(line.data());
        std::this_thread::sleep_for(kTick);
    }
}

/// Writes numbers into a pipe as fast as possible, so that the pipe is always full.
void send() {
    for (std::uint64_t number = 1;; ++number) {
        const std::string text = std::to_string(number) + "\n";
        if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            die("pipe");
    }
}

/// Reads the numbers slowly, and checks their order.
void receive(const char* path) {
    const Report report(path);
    std::uint64_t last = 0;
    std::string text;
    for (unsigned count = 1;; ++count) {
        std::array<char, 1000> part{};
        const ssize_t got = ::read(STDIN_FILENO, part.data(), part.size());
        if (got <= 0)
            die("pipe");
        text.append(part.data(), static_cast<std::size_t>(got));
        for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
            std::uint64_t number = 0;
            std::from_chars(text.data(), text.data() + end, number);
            if (number != ++last) {
                report.line("count=" + std::to_string(count) + " expected " + std::to_string(last) + " but got " +
                            text.substr(0, end) + "\n");
                std::exit(1);
            }
        }
        report.line("count=" + std::to_string(count) + " received=" + std::to_string(last) + "\n");
        std::this_thread::sleep_for(kTick);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view role = argc > 1 ? argv[1] : "";
    if (role == "calculate" && argc == 3)
        calculate(argv[2]);
    else if (role == "send")
        send();
    else if (role == "receive" && argc == 3)
        receive(argv[2]);
    std::fputs("usage: demo-worker calculate REPORT | send | receive REPORT\n", stderr);
    return 2;
}
