// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/together.hpp"

#include <compel/single_thread_run.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/signals_blocked.hpp"
#include "plugins/cuda/processes.hpp"

namespace criu::cuda {
namespace {

/// Number of bytes of contents that the driver moves in a second, at the lowest rate that criu expects. After a stop
/// request, criu expects the usual rate kUsual.
constexpr std::uint64_t kSlowest = std::uint64_t{128} << 20;
constexpr std::uint64_t kUsual = std::uint64_t{1} << 30;
/// Time that the driver gets after a stop request, in addition to the time for contents.
constexpr std::chrono::seconds kLastAnswer{5};
/// Maximum time until the driver's thread stops after a call. On a busy machine, it may be in the kernel for long.
constexpr std::chrono::seconds kStop{30};
/// Interval in which criu measures the size of contents again. The size grows during a call, because the driver
/// allocates memory for contents.
constexpr std::chrono::seconds kMeasure{1};
/// Maximum time until a driver call returns after the driver's thread in the process has ended.
constexpr std::chrono::seconds kNotice{2};
constexpr std::chrono::milliseconds kLook{10};
/// Time for which criu handles the events of one process before it handles the events of the next process.
constexpr std::chrono::microseconds kServe{500};
/// Maximum number of calls at the same time. Each call needs a thread, and a few calls already use the full bandwidth
/// of a bus.
constexpr std::size_t kAtOnce = 32;

/// Result of a driver call. The thread of the call and the waiting thread share it.
struct Call {
    std::atomic<bool> done{false};
    std::exception_ptr failure;
};

std::chrono::milliseconds timeToMove(HostPid pid, std::uint64_t moved, std::uint64_t bytesPerSecond) {
    return std::chrono::milliseconds((dataSize(pid) + moved) / (bytesPerSecond / 1000));
}

std::thread start(const std::shared_ptr<Call>& call, std::function<void()> work) {
    const SignalsBlocked handedDown;
    return std::thread([call, work = std::move(work)] {
        try {
            work();
        } catch (...) {
            call->failure = std::current_exception();
        }
        call->done = true;
    });
}

/// Running driver call for one frozen process. During the call, only the driver's thread of the process runs.
class Running {
public:
    Running(const Target& target, const std::function<void(pid_t)>& work, const Patience& patience)
        : patience_(patience),
          pid_(target.process->pid()),
          moved_(target.moved),
          run_(*target.process, target.thread, kStop, target.watch),
          caller_(start(call_, [work, pid = target.process->pid()] { work(pid); })) {}
    ~Running() {
        if (caller_.joinable())
            caller_.detach();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    /// Handles ptrace events of the driver's thread for a short time. Returns true when the call has ended. Calls
    /// `ended` after a successful call.
    bool proceed(const std::function<void(HostPid)>& ended) noexcept {
        if (over_)
            return true;
        try {
            if (call_->done) {
                run_.stop();
                caller_.join();
                failure_ = call_->failure;
                over_ = true;
                if (!failure_ && ended)
                    ended(pid_);
            } else {
                failOnTimeout();
                run_.serve(kServe);
            }
        } catch (...) {
            failure_ = over_ ? std::current_exception() : failureOf(std::current_exception());
            over_ = true;
        }
        return over_;
    }

    /// Returns the exception of the call; null if the call has succeeded.
    [[nodiscard]] std::exception_ptr failure() const noexcept { return failure_; }

private:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] std::uint64_t moved() const noexcept { return moved_ != nullptr ? moved_->load() : 0; }

    void failOnTimeout() {
        const auto now = Clock::now();
        if (patience_.stop != nullptr && !stopped_ && patience_.stop->requested()) {
            stopped_ = now;
            measured_ = {};
        }
        if (now - measured_ >= kMeasure) {
            end_ = began_ + timeForContents(pid_, patience_.answer, moved());
            if (stopped_)
                end_ = std::min(end_, *stopped_ + kLastAnswer + timeToMove(pid_, moved(), kUsual));
            measured_ = now;
        }
        if (now < end_)
            return;
        leftBehind_ = true;
        if (stopped_)
            patience_.stop->throwIfRequested();
        Error error(ETIMEDOUT, fmt::format("the CUDA driver hasn't come to an end with process {} within {} s", pid_,
                                           std::chrono::duration_cast<std::chrono::seconds>(now - began_).count()));
        error.addHint("--cuda-timeout allows for more");
        throw error;
    }

    /// Returns the exception to report after a failure of the driver's thread. If the call returns in time, this is the
    /// exception of the call, because it contains the cause. Otherwise it is `ofThread`, the failure of the driver's
    /// thread.
    std::exception_ptr failureOf(std::exception_ptr ofThread) noexcept {
        const auto end = Clock::now() + (leftBehind_ ? std::chrono::seconds(0) : kNotice);
        while (!call_->done && Clock::now() < end)
            std::this_thread::sleep_for(kLook);
        if (!call_->done)
            return ofThread;
        caller_.join();
        return call_->failure ? call_->failure : ofThread;
    }

    const Patience patience_;
    const HostPid pid_;
    const std::atomic<std::uint64_t>* const moved_;
    const Clock::time_point began_ = Clock::now();
    Clock::time_point end_{};
    Clock::time_point measured_{};              ///< time when `end_` was computed
    std::optional<Clock::time_point> stopped_;  ///< time of the stop request
    bool leftBehind_ = false;                   ///< true if the call has timed out and its thread still runs
    std::shared_ptr<Call> call_ = std::make_shared<Call>();
    compel::SingleThreadRun run_;
    std::thread caller_;
    std::exception_ptr failure_;
    bool over_ = false;
};

}  // namespace

std::chrono::milliseconds timeForContents(HostPid pid, std::chrono::seconds answer, std::uint64_t moved) {
    return answer + timeToMove(pid, moved, kSlowest);
}

std::vector<std::exception_ptr> callInParallel(const std::vector<Target>& targets,
                                               const std::function<void(pid_t)>& work, const Patience& patience,
                                               const std::function<void(HostPid)>& over) {
    std::vector<std::exception_ptr> failures;
    for (std::size_t begin = 0; begin < targets.size(); begin += kAtOnce) {
        if (patience.stop != nullptr)
            patience.stop->throwIfRequested();
        const std::size_t end = std::min(begin + kAtOnce, targets.size());
        std::vector<std::unique_ptr<Running>> all;
        for (std::size_t i = begin; i < end; ++i) {
            failures.emplace_back();
            try {
                all.push_back(std::make_unique<Running>(targets[i], work, patience));
            } catch (...) {
                all.push_back(nullptr);
                failures.back() = std::current_exception();
            }
        }
        for (bool allOver = false; !allOver;) {
            allOver = true;
            for (const auto& each : all)
                allOver = (!each || each->proceed(over)) && allOver;
        }
        for (std::size_t i = begin; i < end; ++i)
            if (all[i - begin])
                failures[i] = all[i - begin]->failure();
    }
    return failures;
}

void throwFirst(const std::vector<std::exception_ptr>& failures) {
    for (const std::exception_ptr& failure : failures)
        if (failure)
            rethrow(failure);
}

void callWithTimeout(const std::function<void()>& work, std::chrono::milliseconds limit, StopRequest* stop,
                     std::string_view what) {
    const auto call = std::make_shared<Call>();
    std::thread caller = start(call, work);
    const auto end = std::chrono::steady_clock::now() + limit;
    auto pause = std::chrono::microseconds(20);
    while (!call->done) {
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::microseconds>(pause * 2, kLook);
        const bool stopped = stop != nullptr && stop->requested();
        if (call->done || (!stopped && std::chrono::steady_clock::now() < end))
            continue;
        caller.detach();
        if (stop != nullptr)
            stop->throwIfRequested();
        failWith(ETIMEDOUT, "{}: the CUDA driver doesn't answer", what);
    }
    caller.join();
    if (call->failure)
        rethrow(call->failure);
}

}  // namespace criu::cuda
