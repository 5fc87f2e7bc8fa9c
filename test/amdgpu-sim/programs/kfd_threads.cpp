// SPDX-License-Identifier: GPL-2.0-only
// Has threads that allocate, fill by a queue, check and free all the time. A dump may come during copies and checks. It
// must not come between an allocation and its mmap(2): the thread has the mmap offset then, and the offset changes with
// a restore.
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

class Worker {
public:
    Worker(const gpu::Kfd& kfd, const gpu::Gpu& gpu, std::uint64_t seed, const std::atomic<bool>& allocates)
        : kfd_(kfd), gpu_(gpu), seed_(seed), allocates_(allocates), thread_([this] { work(); }) {}

    ~Worker() {
        stop();
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void expect_progress() const {
        const std::uint64_t before = rounds_;
        for (int i = 0; i < 10000 && rounds_ < before + 2 && !failed_; ++i) {
            usleep(1000);
        }
        gpu::expect(!failed_, "thread " + std::to_string(seed_) + ": " + failure_);
        gpu::expect(rounds_ >= before + 2, "thread " + std::to_string(seed_) + " does not go on");
    }
    void stop() { stopping_ = true; }
    void join() {
        thread_.join();
        gpu::expect(failure_.empty(), "thread " + std::to_string(seed_) + ": " + failure_);
    }

private:
    void work() {
        try {
            gpu::Queue queue(kfd_, gpu_, gpu::Queue::Kind::kSdma, 4096);
            const gpu::Memory source = kfd_.allocate(gpu_, 65536, gpu::kGtt);
            gpu::fill(source.bytes(), seed_);
            while (!stopping_) {
                const gpu::Memory target = kfd_.allocate(gpu_, 65536, rounds_ % 2 == 0 ? gpu::kVisibleVram : gpu::kGtt);
                do {
                    gpu::fill(target.bytes(), seed_ + 1);
                    queue.copy(target.address, source.address, target.size);
                    queue.finish();
                    gpu::check(target.bytes(), seed_, "what the queue has copied");
                    ++rounds_;
                } while (!allocates_ && !stopping_);
                kfd_.free(target);
            }
            gpu::check(source.bytes(), seed_, "what the queue copies");
            queue.destroy();
            kfd_.free(source);
        } catch (const gpu::Failure& error) {
            failure_ = error.what();
            failed_ = true;
        }
    }

    const gpu::Kfd& kfd_;
    const gpu::Gpu gpu_;
    std::uint64_t seed_;
    const std::atomic<bool>& allocates_;
    std::atomic<std::uint64_t> rounds_ = 0;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> failed_ = false;
    std::string failure_;
    std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        const gpu::Kfd kfd;
        std::atomic<bool> allocates = true;
        std::vector<std::unique_ptr<Worker>> workers;
        for (std::uint64_t number = 0; number < 6; ++number) {
            workers.push_back(
                std::make_unique<Worker>(kfd, kfd.gpus()[number % kfd.gpus().size()], number + 1, allocates));
        }
        const auto works = [&] {
            // The flag was changed before the second round of each thread.
            for (const bool how : {true, false}) {
                allocates = how;
                for (const auto& worker : workers) {
                    worker->expect_progress();
                }
            }
        };
        works();
        subject.wait(works);
        for (const auto& worker : workers) {
            worker->stop();
        }
        for (const auto& worker : workers) {
            worker->join();
        }
    });
}
