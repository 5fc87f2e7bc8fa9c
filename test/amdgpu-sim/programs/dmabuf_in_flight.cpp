// SPDX-License-Identifier: GPL-2.0-only
// Does the same as dmabuf_passing, with one dma-buf in flight in a socket.
#include "gpu/passing.hpp"

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) { gpu::pass_dmabufs(subject, true); });
}
