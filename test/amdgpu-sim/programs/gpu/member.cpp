// SPDX-License-Identifier: GPL-2.0-only
#include "gpu/member.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gpu/subject.hpp"

namespace gpu {

ComputeMember::ComputeMember(std::uint64_t seed) : seed_(seed) {
    for (const Gpu& gpu : kfd_.gpus()) {
        queues_.push_back(std::make_unique<Queue>(kfd_, gpu, Queue::Kind::kSdma));
        for (const std::uint32_t flags : {kVisibleVram, kGtt}) {
            memory_.push_back(kfd_.allocate(gpu, (seed % 3 + 1) * 300 * kPage, flags));
            fill(memory_.back().bytes(), seed * 16 + memory_.size());
        }
        counters_.push_back(kfd_.allocate(gpu, kPage, kVisibleVram));
    }
}

void ComputeMember::works() {
    ++turns_;
    for (std::size_t at = 0; at < queues_.size(); ++at) {
        expect(queues_[at]->try_count(counters_[at].address), "a ring is full");
        queues_[at]->finish();
        const auto value = *reinterpret_cast<const volatile std::uint64_t*>(counters_[at].address);
        expect(value == turns_, "a queue has counted to " + std::to_string(value) + ", not " + std::to_string(turns_));
    }
}

void ComputeMember::verify() {
    works();
    for (std::size_t at = 0; at < memory_.size(); ++at) {
        check(memory_[at].bytes(), seed_ * 16 + at + 1, "buffer " + std::to_string(at));
    }
}

namespace {

int live(const std::function<std::unique_ptr<Member>()>& make, int commands, int answers) {
    try {
        const std::unique_ptr<Member> member = make();
        char command = 0;
        while (read(commands, &command, 1) == 1) {
            if (command == 'w') {
                member->works();
            } else if (command == 'v') {
                member->verify();
            }
            if (write(answers, &command, 1) != 1 || command == 'v') {
                return command == 'v' ? 0 : 1;
            }
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "a child: %s\n", error.what());
    }
    return 1;
}

}  // namespace

Child::Child(const std::function<std::unique_ptr<Member>()>& make) {
    int down[2];
    int up[2];
    require(pipe(down), "pipe");
    require(pipe(up), "pipe");
    pid_ = require(fork(), "fork");
    if (pid_ == 0) {
        close(down[1]);
        close(up[0]);
        const int status = live(make, down[0], up[1]);
        std::fflush(nullptr);
        _exit(status);
    }
    close(down[0]);
    close(up[1]);
    commands_ = down[1];
    answers_ = up[0];
    ask('r');
}

void Child::ask(char command) {
    char answer = 0;
    expect(write(commands_, &command, 1) == 1, "a child can't be told anything");
    expect(read(answers_, &answer, 1) == 1 && answer == command,
           std::string("a child failed at '").append(1, command).append("', see the program's output"));
}

void Child::end() {
    ask('v');
    int status = 0;
    expect(waitpid(pid_, &status, 0) == pid_ && status == 0, "a child ended badly");
}

}  // namespace gpu
