// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/tracing_thread.hpp>

#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace compel {

namespace {

/// Passes functions to the tracing thread, which calls them. The functions come from the thread that runs the work of
/// workBesideTracer().
class Service {
public:
    /// Returns false in a process that the working thread has forked, because this process has no tracing thread.
    [[nodiscard]] bool isOfThisProcess() const noexcept { return process_ == ::getpid(); }

    /// Runs `function` in the tracing thread, and throws its exception. Called by the thread of the work.
    void call(const std::function<void()>& function) {
        std::exception_ptr failure;
        std::unique_lock lock(mutex_);
        wanted_ = &function;
        failure_ = &failure;
        changed_.notify_all();
        changed_.wait(lock, [this] { return wanted_ == nullptr; });
        if (failure)
            std::rethrow_exception(failure);
    }

    /// Ends run(). Called by the thread of the work at its end.
    void end() {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }

    /// Calls the requested functions until end(). Called by the tracing thread.
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return wanted_ != nullptr || ended_; });
            if (wanted_ == nullptr)
                return;
            // The call runs under the lock. This is harmless, because the only other user of the lock, the thread of
            // the work, waits.
            try {
                (*wanted_)();
            } catch (...) {
                *failure_ = std::current_exception();
            }
            wanted_ = nullptr;
            changed_.notify_all();
        }
    }

private:
    const pid_t process_ = ::getpid();
    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()>* wanted_ = nullptr;
    std::exception_ptr* failure_ = nullptr;
    bool ended_ = false;
};

/// Service that the calling thread uses; null if the calling thread doesn't run the work of workBesideTracer().
thread_local Service* service = nullptr;

}  // namespace

void workBesideTracer(const std::function<void()>& work) {
    Service tracer;
    std::exception_ptr failure;
    std::thread worker([&] {
        service = &tracer;
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
        tracer.end();
    });
    tracer.run();
    worker.join();
    if (failure)
        std::rethrow_exception(failure);
}

void inTracingThread(const std::function<void()>& function) {
    if (service != nullptr && service->isOfThisProcess())
        service->call(function);
    else
        function();
}

}  // namespace compel
