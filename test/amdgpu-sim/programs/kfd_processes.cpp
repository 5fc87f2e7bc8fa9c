// SPDX-License-Identifier: GPL-2.0-only
// A parent and two children, each a KFD process of its own with both GPUs, memory of every kind and a queue that works.
// The same ids and handles mean different things in each of them.
#include <signal.h>

#include <memory>

#include "gpu/member.hpp"
#include "gpu/subject.hpp"

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        signal(SIGPIPE, SIG_IGN);
        gpu::Child first([] { return std::make_unique<gpu::ComputeMember>(1); });
        gpu::Child second([] { return std::make_unique<gpu::ComputeMember>(2); });
        gpu::ComputeMember own(3);
        const auto turn = [&] {
            first.works();
            own.works();
            second.works();
        };
        turn();
        subject.wait(turn);
        own.verify();
        first.end();
        second.end();
    });
}
