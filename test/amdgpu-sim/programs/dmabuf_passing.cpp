// SPDX-License-Identifier: GPL-2.0-only
// dma-bufs that processes have open.
#include "gpu/passing.hpp"

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) { gpu::pass_dmabufs(subject, false); });
}
