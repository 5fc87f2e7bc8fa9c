// SPDX-License-Identifier: GPL-2.0-only
// Has a parent and two children, each a KFD process with both GPUs, memory of every kind and a busy queue. Each process
// has its own ids and handles.
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
