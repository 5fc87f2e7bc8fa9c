// SPDX-License-Identifier: GPL-2.0-only
// A parent and two children, each a KFD process of its own with both GPUs, memory of every kind and a queue that works.
// The same ids and handles mean different things in each of them.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

// What each of the processes has.
class Member {
public:
    explicit Member(std::uint64_t seed) : seed_(seed) {
        for (const gpu::Gpu& gpu : kfd_.gpus()) {
            queues_.push_back(std::make_unique<gpu::Queue>(kfd_, gpu, gpu::Queue::Kind::kSdma));
            for (const std::uint32_t flags : {gpu::kVisibleVram, gpu::kGtt}) {
                memory_.push_back(kfd_.allocate(gpu, (seed % 3 + 1) * 300 * gpu::kPage, flags));
                gpu::fill(memory_.back().bytes(), seed * 16 + memory_.size());
            }
            counters_.push_back(kfd_.allocate(gpu, gpu::kPage, gpu::kVisibleVram));
        }
    }

    void works() {
        ++turns_;
        for (std::size_t at = 0; at < queues_.size(); ++at) {
            gpu::expect(queues_[at]->try_count(counters_[at].address), "a ring is full");
            queues_[at]->finish();
            const auto value = *reinterpret_cast<const volatile std::uint64_t*>(counters_[at].address);
            gpu::expect(value == turns_,
                        "a queue has counted to " + std::to_string(value) + ", not " + std::to_string(turns_));
        }
    }

    void verify() {
        works();
        for (std::size_t at = 0; at < memory_.size(); ++at) {
            gpu::check(memory_[at].bytes(), seed_ * 16 + at + 1, "buffer " + std::to_string(at));
        }
    }

private:
    gpu::Kfd kfd_;
    std::uint64_t seed_;
    std::uint64_t turns_ = 0;
    std::vector<std::unique_ptr<gpu::Queue>> queues_;
    std::vector<gpu::Memory> memory_;
    std::vector<gpu::Memory> counters_;
};

// A child does what it is told by single bytes, and answers each with one.
class Child {
public:
    explicit Child(std::uint64_t seed) {
        int down[2];
        int up[2];
        gpu::require(pipe(down), "pipe");
        gpu::require(pipe(up), "pipe");
        pid_ = gpu::require(fork(), "fork");
        if (pid_ == 0) {
            close(down[1]);
            close(up[0]);
            _exit(live(seed, down[0], up[1]));
        }
        close(down[0]);
        close(up[1]);
        commands_ = down[1];
        answers_ = up[0];
        ask('r');
    }

    void ask(char command) {
        char answer = 0;
        gpu::expect(write(commands_, &command, 1) == 1, "a child can't be told anything");
        gpu::expect(read(answers_, &answer, 1) == 1 && answer == command,
                    std::string("a child failed at '") + command + "', see the program's output");
    }

    void end() {
        ask('v');
        int status = 0;
        gpu::expect(waitpid(pid_, &status, 0) == pid_ && status == 0, "a child ended badly");
    }

private:
    static int live(std::uint64_t seed, int commands, int answers) {
        try {
            Member member(seed);
            char command = 0;
            while (read(commands, &command, 1) == 1) {
                if (command == 'w') {
                    member.works();
                } else if (command == 'v') {
                    member.verify();
                }
                if (write(answers, &command, 1) != 1 || command == 'v') {
                    return command == 'v' ? 0 : 1;
                }
            }
        } catch (const std::exception& error) {
            std::fprintf(stderr, "child with seed %lu: %s\n", static_cast<unsigned long>(seed), error.what());
        }
        return 1;
    }

    pid_t pid_ = -1;
    int commands_ = -1;
    int answers_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        signal(SIGPIPE, SIG_IGN);
        Child first(1);
        Child second(2);
        Member own(3);
        const auto turn = [&] {
            first.ask('w');
            own.works();
            second.ask('w');
        };
        turn();
        subject.wait(turn);
        own.verify();
        first.end();
        second.end();
    });
}
