// SPDX-License-Identifier: GPL-2.0-only
// Has dma-bufs open in several processes.
#include "gpu/passing.hpp"

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) { gpu::pass_dmabufs(subject, false); });
}
