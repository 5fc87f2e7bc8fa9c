// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// Processes of a tree that each have something of a GPU, and do what the first of them says.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"

namespace gpu {

// What one of the processes has.
class Member {
public:
    virtual ~Member() = default;
    // Uses it. Throws Failure.
    virtual void works() = 0;
    // The same, and looks whether all of it is as it was. Throws Failure.
    virtual void verify() = 0;
};

// All GPUs, memory of every kind and a queue of each.
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

// A child that makes a member for itself. It is told what to do by single bytes, and answers each with one.
class Child {
public:
    explicit Child(const std::function<std::unique_ptr<Member>()>& make);

    void works() { ask('w'); }
    // It verifies, and ends.
    void end();

private:
    void ask(char command);

    pid_t pid_ = -1;
    int commands_ = -1;
    int answers_ = -1;
};

}  // namespace gpu
