// SPDX-License-Identifier: GPL-2.0-only
// Has a buffer of a render node with thousands of free handles below its own, as after a peak of use.
#include <vector>

#include "gpu/render.hpp"
#include "gpu/subject.hpp"
#include "gpu/topology.hpp"

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        constexpr std::size_t kBuffers = 6000;
        constexpr std::uint64_t kSeed = 81;
        const gpu::Render render(gpu::nodes().at(0).render_path());
        std::vector<gpu::Buffer> buffers;
        for (std::size_t at = 0; at < kBuffers; ++at) {
            buffers.push_back(render.create(4096, AMDGPU_GEM_DOMAIN_GTT));
        }
        gpu::Buffer last = buffers.back();
        buffers.pop_back();
        for (const gpu::Buffer& buffer : buffers) {
            render.close_handle(buffer.handle);
        }
        render.map(last);
        gpu::fill(last.bytes, kSeed);
        const auto check = [&] {
            gpu::check(last.bytes, kSeed, "the buffer");
            gpu::Buffer again = last;
            render.map(again);
            gpu::check(again.bytes, kSeed, "the buffer by its handle");
        };
        subject.wait(check);
        check();
    });
}
