// SPDX-License-Identifier: GPL-2.0-only
// The same, with one that is in a socket.
#include "gpu/passing.hpp"

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) { gpu::pass_dmabufs(subject, true); });
}
