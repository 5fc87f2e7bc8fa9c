// SPDX-License-Identifier: GPL-2.0-only
// Memory of a GPU whose file has been closed: what the mapping is of can't be asked for any more. And a /dev/kfd that
// only a child of the process that opened it has: the child has no compute state.
// usage: closed_files FOLDER render|kfd|inherited
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gpu/kfd.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::uint64_t kSeed = 70;

void with_render(gpu::Subject& subject) {
    const gpu::Render render(gpu::nodes().at(0).render_path());
    gpu::Buffer buffer = render.create(4 * gpu::kPage, AMDGPU_GEM_DOMAIN_GTT);
    render.map(buffer);
    close(render.fd());
    gpu::fill(buffer.bytes, kSeed);
    subject.wait([&] { gpu::check(buffer.bytes, kSeed, "the buffer"); });
    gpu::check(buffer.bytes, kSeed, "the buffer");
}

void with_kfd(gpu::Subject& subject) {
    const gpu::Kfd kfd;
    const gpu::Memory doorbells = kfd.allocate(kfd.gpus().at(0), gpu::kDoorbellBytes,
                                               KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
    close(kfd.fd());
    subject.wait([&] { static_cast<void>(*reinterpret_cast<volatile std::uint32_t*>(doorbells.address)); });
}

void with_inherited_kfd(gpu::Subject& subject) {
    const gpu::Kfd kfd;
    int ends[2];
    gpu::require(pipe(ends), "pipe");
    const pid_t child = gpu::require(fork(), "fork");
    if (child == 0) {
        char end = 0;
        close(ends[1]);
        _exit(read(ends[0], &end, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    close(kfd.fd());
    subject.wait([&] { gpu::expect(waitpid(child, nullptr, WNOHANG) == 0, "the child is gone"); });
    close(ends[1]);
    int status = 0;
    gpu::expect(waitpid(child, &status, 0) == child && status == 0, "the child ended badly");
}

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        gpu::expect(argc == 3, "one argument is wanted");
        if (argv[2] == std::string("kfd")) {
            with_kfd(subject);
        } else if (argv[2] == std::string("inherited")) {
            with_inherited_kfd(subject);
        } else {
            with_render(subject);
        }
    });
}
