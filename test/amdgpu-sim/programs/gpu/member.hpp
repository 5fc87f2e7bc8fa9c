// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// Processes of a tree that each use GPUs, controlled by the first one.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"

namespace gpu {

// State of one of the processes.
class Member {
public:
    virtual ~Member() = default;
    // Uses the state. Throws Failure.
    virtual void works() = 0;
    // Uses the state and checks all of it. Throws Failure.
    virtual void verify() = 0;
};

// Has all GPUs, memory of every kind and a queue on each GPU.
class ComputeMember final : public Member {
public:
    explicit ComputeMember(std::uint64_t seed);
    void works() override;
    void verify() override;

private:
    Kfd kfd_;
    std::uint64_t seed_;
    std::uint64_t turns_ = 0;
    std::vector<std::unique_ptr<Queue>> queues_;
    std::vector<Memory> memory_;
    std::vector<Memory> counters_;
};

// A child with a member of its own. It receives commands of one byte, and answers each with one byte.
class Child {
public:
    explicit Child(const std::function<std::unique_ptr<Member>()>& make);

    void works() { ask('w'); }
    // Makes the child verify its member and end.
    void end();

private:
    void ask(char command);

    pid_t pid_ = -1;
    int commands_ = -1;
    int answers_ = -1;
};

}  // namespace gpu
