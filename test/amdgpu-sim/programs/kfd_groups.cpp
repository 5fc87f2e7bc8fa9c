// SPDX-License-Identifier: GPL-2.0-only
// Has processes that see different GPUs, because the device rules of their cgroups differ. The arguments are cgroup
// directories, one process for each. The process enters the cgroup before it opens the compute driver, and finds one
// GPU. Before and after a restore it can open that GPU's node and has the GPU's memory and queue.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr char kGoOn = 'g';
constexpr char kEnd = 'e';

void enter(const std::string& group) {
    const int file = gpu::require(open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC), "open cgroup.procs");
    gpu::expect(write(file, "0", 1) == 1, "enter " + group);
    close(file);
}

class Worker {
public:
    explicit Worker(std::uint64_t seed)
        : seed_(seed),
          queue_(kfd_, kfd_.gpus().at(0), gpu::Queue::Kind::kSdma),
          hidden_(kfd_.allocate(kfd_.gpus().at(0), kSize, gpu::kVram)),
          seen_(kfd_.allocate(kfd_.gpus().at(0), kSize, gpu::kVisibleVram)) {
        gpu::expect(kfd_.gpus().size() == 1, "a group that allows one GPU shows several");
        gpu::fill(seen_.bytes(), seed_);
        queue_.copy(hidden_.address, seen_.address, kSize);
        queue_.finish();
    }

    void check() {
        gpu::check(seen_.bytes(), seed_, "memory of the GPU");
        gpu::fill(seen_.bytes(), 0);
        queue_.copy(seen_.address, hidden_.address, kSize);
        queue_.finish();
        gpu::check(seen_.bytes(), seed_, "memory that only the GPU sees");
    }

private:
    static constexpr std::size_t kSize = 1 << 20;

    std::uint64_t seed_;
    gpu::Kfd kfd_;
    gpu::Queue queue_;
    gpu::Memory hidden_;
    gpu::Memory seen_;
};

// Checks for each byte that it reads, and answers with the same byte.
int live(const std::string& group, std::uint64_t seed, int commands, int answers) {
    try {
        enter(group);
        Worker worker(seed);
        for (char command = 0; command != kEnd;) {
            gpu::expect(read(commands, &command, 1) == 1, "read");
            worker.check();
            gpu::expect(write(answers, &command, 1) == 1, "write");
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "in %s: %s\n", group.c_str(), error.what());
        return 1;
    }
}

struct Child {
    pid_t pid = -1;
    int commands = -1;
    int answers = -1;
};

Child start(const std::string& group, std::uint64_t seed) {
    int down[2];
    int up[2];
    gpu::require(pipe2(down, O_CLOEXEC), "pipe");
    gpu::require(pipe2(up, O_CLOEXEC), "pipe");
    const pid_t pid = gpu::require(fork(), "fork");
    if (pid == 0) {
        close(down[1]);
        close(up[0]);
        _exit(live(group, seed, down[0], up[1]));
    }
    close(down[0]);
    close(up[1]);
    return {pid, down[1], up[0]};
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> groups(argv + 2, argv + argc);
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        std::vector<Child> children;
        for (std::size_t at = 0; at < groups.size(); ++at)
            children.push_back(start(groups[at], 100 + at));
        const auto check = [&](char command) {
            for (std::size_t at = 0; at < groups.size(); ++at) {
                char byte = command;
                gpu::expect(write(children[at].commands, &byte, 1) == 1 && read(children[at].answers, &byte, 1) == 1,
                            "the process in " + groups[at] + " has failed, see the program's output");
            }
        };
        check(kGoOn);
        subject.wait([&] { check(kGoOn); });
        check(kEnd);
        for (const Child& child : children) {
            int status = 0;
            gpu::expect(waitpid(child.pid, &status, 0) == child.pid && status == 0, "a process ended badly");
        }
    });
}
