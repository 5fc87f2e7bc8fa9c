// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "criu/base/signals_blocked.hpp"
#include "criu/base/thread_pool.hpp"

namespace criu::engine {
namespace {

using namespace std::chrono_literals;

constexpr auto kSilence = 500ms;
constexpr auto kInterval = 200ms;
constexpr std::string_view kEraseRest = "\033[K";

struct Unit {
    double size;
    std::string_view name;
};

/// Returns the unit in which criu shows `bytes`: the largest binary unit that isn't larger than `bytes`.
Unit unitFor(double bytes) noexcept {
    constexpr Unit units[] = {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
    for (const Unit& unit : units)
        if (bytes >= unit.size)
            return unit;
    return {1, "B"};
}

/// Returns "12 s", "3 min 20 s" or "2 h 5 min".
std::string duration(double seconds) {
    constexpr double kLongest = 1e6;
    const auto all = static_cast<unsigned>(std::min(std::ceil(seconds), kLongest));
    if (all < 60)
        return fmt::format("{} s", all);
    if (all < 3600)
        return fmt::format("{} min {} s", all / 60, all % 60);
    return fmt::format("{} h {} min", all / 3600, all / 60 % 60);
}

void put(int fd, std::string_view text) noexcept {
    // Ignores errors: if the terminal is closed, the command must still succeed.
    [[maybe_unused]] const ssize_t written = ::write(fd, text.data(), text.size());
}

}  // namespace

Progress::Progress(std::string_view verb, const std::atomic<std::uint64_t>& done, int fd,
                   const std::atomic<std::uint64_t>& total, Time start)
    : verb_(verb), done_(done), fd_(fd), start_(start), next_(start + kSilence), total_(total) {}

void Progress::startThread() {
    if (fd_ < 0)
        return;
    // Blocks signals in the new thread, so that the kernel delivers them to the thread that executes the command.
    const SignalsBlocked blocked;
    thread_ = criu::startThread([this] {
        std::unique_lock lock(mutex_);
        while (!ending_.wait_for(lock, kInterval, [this] { return ends_; }))
            tick();
    });
}

Progress::~Progress() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        ending_.notify_all();
        thread_.join();
    }
    if (shown_)
        put(fd_, kEraseRest);
}

int Progress::terminal(const model::Options& options) noexcept {
    if (options.dryRun)
        return -1;
    const bool logIsThere = options.logFile.empty() && options.verbosity >= LogLevel::Info;
    if (options.quiet || options.verbosity == LogLevel::Message || logIsThere || ::isatty(STDERR_FILENO) == 0)
        return -1;
    return STDERR_FILENO;
}

void Progress::tick(Time now) noexcept {
    if (fd_ < 0 || now < next_)
        return;
    next_ = now + kInterval;
    try {
        // Puts the cursor to the start of the line, so that the next message overwrites the line.
        put(fd_, fmt::format("{}{}\r",
                             line(verb_, done_.load(std::memory_order_relaxed), total_.load(std::memory_order_relaxed),
                                  now - start_),
                             kEraseRest));
        shown_ = true;
    } catch (const std::exception&) {
        fd_ = -1;  // no memory: the command continues without the line
    }
}

std::string Progress::line(std::string_view verb, std::uint64_t done, std::uint64_t total,
                           std::chrono::duration<double> elapsed) {
    const double bytes = static_cast<double>(done);
    const double rate = elapsed.count() > 0 ? bytes / elapsed.count() : 0;
    const Unit rateUnit = unitFor(rate);
    const std::string speed = fmt::format("{:.2f} {}/s", rate / rateUnit.size, rateUnit.name);
    if (total == 0) {
        const Unit unit = unitFor(bytes);
        return fmt::format("{}: {:.2f} {}, {}", verb, bytes / unit.size, unit.name, speed);
    }
    total = std::max(total, done);  // `total` is an estimate, which `done` may exceed
    const double all = static_cast<double>(total);
    const Unit unit = unitFor(all);
    std::string text = fmt::format("{}: {:.2f} of {:.2f} {} ({:.0f} %), {}", verb, bytes / unit.size, all / unit.size,
                                   unit.name, 100 * bytes / all, speed);
    if (done < total && rate > 0)
        text += fmt::format(", {} left", duration((all - bytes) / rate));
    return text;
}

void showWait(const model::Options& options, std::string_view text) noexcept {
    if (const int fd = Progress::terminal(options); fd >= 0) {
        put(fd, text);
        put(fd, "\n");
    }
}

}  // namespace criu::engine
