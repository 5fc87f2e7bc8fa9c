// SPDX-License-Identifier: GPL-2.0-only
// Has queues of every kind on two GPUs that never stop. A thread for each fills its ring with counting packets. In the
// end each counter must equal the number of packets: none is lost or executed twice.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

// A queue, its counter, and the thread that feeds it.
class Feeder {
public:
    Feeder(const gpu::Kfd& kfd, const gpu::Gpu& gpu, gpu::Queue::Kind kind, std::string name)
        : name_(std::move(name)),
          kind_(kind),
          queue_(kfd, gpu, kind),
          memory_(kfd.allocate(gpu, gpu::kPage, gpu::kVisibleVram)),
          thread_([this] { feed(); }) {}

    ~Feeder() { stop(); }
    Feeder(const Feeder&) = delete;
    Feeder& operator=(const Feeder&) = delete;

    // Returns the number of executed packets. An AQL signal counts down.
    std::uint64_t counted() const {
        const std::uint64_t value = *reinterpret_cast<const volatile std::uint64_t*>(memory_.address + 8);
        return kind_ == gpu::Queue::Kind::kAql ? 0 - value : value;
    }

    void expect_progress() const {
        const std::uint64_t before = counted();
        for (int i = 0; i < 5000; ++i) {
            if (counted() > before) {
                return;
            }
            usleep(1000);
        }
        throw gpu::Failure(name_ + " stands still at " + std::to_string(before));
    }

    void verify() {
        stop();
        queue_.finish();
        gpu::expect(counted() == given_, name_ + " has counted to " + std::to_string(counted()) + " with " +
                                             std::to_string(given_) + " packets");
    }

private:
    void feed() {
        while (!stopping_) {
            const std::uint64_t target = kind_ == gpu::Queue::Kind::kAql ? memory_.address : memory_.address + 8;
            bool any = false;
            while (queue_.try_count(target)) {
                ++given_;
                any = true;
            }
            if (any) {
                queue_.ring();
            } else {
                usleep(100);
            }
        }
    }

    void stop() {
        stopping_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    std::string name_;
    gpu::Queue::Kind kind_;
    gpu::Queue queue_;
    gpu::Memory memory_;
    std::uint64_t given_ = 0;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        const gpu::Kfd kfd;
        std::vector<std::unique_ptr<Feeder>> feeders;
        int number = 0;
        for (const gpu::Gpu& gpu : kfd.gpus()) {
            const std::string at = " of GPU " + std::to_string(number++);
            feeders.push_back(std::make_unique<Feeder>(kfd, gpu, gpu::Queue::Kind::kSdma, "the SDMA queue" + at));
            feeders.push_back(std::make_unique<Feeder>(kfd, gpu, gpu::Queue::Kind::kPm4, "the PM4 queue" + at));
            feeders.push_back(std::make_unique<Feeder>(kfd, gpu, gpu::Queue::Kind::kAql, "the AQL queue" + at));
        }
        // Destroys a queue in between, so that queue ids and doorbells have a gap.
        gpu::Queue(kfd, kfd.gpus()[0], gpu::Queue::Kind::kSdma).destroy();
        const Feeder last(kfd, kfd.gpus()[0], gpu::Queue::Kind::kSdma, "the last queue");
        subject.wait([&] {
            for (const auto& feeder : feeders) {
                feeder->expect_progress();
            }
        });
        last.expect_progress();
        for (const auto& feeder : feeders) {
            feeder->verify();
        }
        // The new queue must not get the id or doorbell of another.
        Feeder another(kfd, kfd.gpus()[0], gpu::Queue::Kind::kSdma, "a new queue");
        another.expect_progress();
        another.verify();
    });
}
