// SPDX-License-Identifier: GPL-2.0-only
// Holds events. Signaled events stay so, waiting threads continue to wait, and a queue can still wake them.
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::uint32_t kForever = 0xffffffff;

// A thread that waits in WAIT_EVENTS all the time and counts its wakeups.
class Waiter {
public:
    Waiter(const gpu::Kfd& kfd, std::vector<std::uint32_t> ids, bool all)
        : thread_([this, &kfd, waited = std::move(ids), all] {
              try {
                  while (!stopping_) {
                      if (kfd.wait_events(waited, all, kForever) == KFD_IOC_WAIT_RESULT_COMPLETE) {
                          ++woken_;
                      }
                  }
              } catch (const gpu::Failure& error) {
                  failure_ = error.what();
                  failed_ = true;
              }
          }) {}

    // After a failure the thread may wait forever. It ends with the process.
    ~Waiter() {
        if (thread_.joinable()) {
            thread_.detach();
        }
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    void expect_woken(int times, const std::string& name) const {
        for (int i = 0; i < 5000 && woken_ < times && !failed_; ++i) {
            usleep(1000);
        }
        gpu::expect(!failed_, name + ": " + failure_);
        gpu::expect(woken_ == times,
                    name + " was woken " + std::to_string(woken_) + " times, not " + std::to_string(times));
    }

    // Makes the thread end at its next wakeup.
    void last() { stopping_ = true; }
    void join() { thread_.join(); }

private:
    std::atomic<int> woken_ = 0;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> failed_ = false;
    std::string failure_;
    std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        const gpu::Kfd kfd;
        std::vector<std::unique_ptr<gpu::Queue>> queues;
        for (const gpu::Gpu& gpu : kfd.gpus()) {
            queues.push_back(std::make_unique<gpu::Queue>(kfd, gpu, gpu::Queue::Kind::kSdma));
        }
        const std::uint32_t unset = kfd.create_event(false);
        const std::uint32_t set = kfd.create_event(false);
        const std::uint32_t set_once = kfd.create_event(true);
        const std::uint32_t gone = kfd.create_event(true);
        const std::uint32_t by_program = kfd.create_event(true);
        const std::uint32_t by_first = kfd.create_event(true);
        const std::uint32_t by_second = kfd.create_event(true);
        kfd_ioctl_destroy_event_args destroyed{gone, 0};
        kfd.call(AMDKFD_IOC_DESTROY_EVENT, destroyed, "DESTROY_EVENT");
        kfd.set_event(set);
        kfd.set_event(set_once);

        Waiter one(kfd, {by_program}, false);
        Waiter both(kfd, {by_first, by_second}, true);
        int turns = 0;
        const auto turn = [&] {
            ++turns;
            kfd.set_event(by_program);
            one.expect_woken(turns, "the thread that waits for one event");
            queues.front()->raise(by_first);
            queues.front()->finish();
            queues.back()->raise(by_second);
            queues.back()->finish();
            both.expect_woken(turns, "the thread that waits for two events");
        };
        turn();
        subject.wait(turn);

        const auto signaled = [&](std::uint32_t id) {
            const std::uint32_t ids[]{id};
            return kfd.wait_events(ids, false, 0) == KFD_IOC_WAIT_RESULT_COMPLETE;
        };
        gpu::expect(!signaled(unset), "an event is signaled that wasn't");
        gpu::expect(signaled(set), "an event isn't signaled that was");
        gpu::expect(signaled(set), "an event without auto reset has lost its state");
        gpu::expect(signaled(set_once), "an event with auto reset isn't signaled that was");
        gpu::expect(!signaled(set_once), "an event with auto reset was signaled twice");
        gpu::expect(kfd.attempt(AMDKFD_IOC_DESTROY_EVENT, destroyed) == EINVAL, "an event is there that was destroyed");
        const std::uint32_t fresh = kfd.create_event(true);
        for (const std::uint32_t id : {unset, set, set_once, by_program, by_first, by_second}) {
            gpu::expect(fresh != id, "a new event has the number of another");
        }
        one.last();
        both.last();
        turn();
        one.join();
        both.join();
    });
}
