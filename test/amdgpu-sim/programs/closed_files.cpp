// SPDX-License-Identifier: GPL-2.0-only
// Holds states that a dump must refuse. "render": a mapping of GPU memory whose file is closed, so criu can't query the
// buffer. "kfd": GPU memory of a process that has closed /dev/kfd. "inherited" and "twice": a child has only its
// parent's /dev/kfd open, or one of its own besides. "doorbells": a mapping of doorbells without a buffer.
// usage: closed_files FOLDER render|kfd|inherited|twice|doorbells
#include <fcntl.h>
#include <sys/mman.h>
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

// Maps doorbells as programs do for GPUs inside a processor, up to Linux 6.5.
void with_doorbells(gpu::Subject& subject) {
    const gpu::Kfd kfd;
    const gpu::Memory listed = kfd.allocate(kfd.gpus().at(0), gpu::kDoorbellBytes,
                                            KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
    const auto offset = std::uint64_t{3} << 62 | std::uint64_t{kfd.gpus().at(1).id} << 46;
    void* place =
        mmap(nullptr, gpu::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, kfd.fd(), static_cast<off_t>(offset));
    gpu::expect(place != MAP_FAILED, "mmap of doorbells");
    subject.wait([&] {
        static_cast<void>(*reinterpret_cast<volatile std::uint32_t*>(listed.address));
        static_cast<void>(*static_cast<volatile std::uint32_t*>(place));
    });
}

// `own`: the child also has its own descriptor, with a lower number.
void with_inherited_kfd(gpu::Subject& subject, bool own) {
    const int free = gpu::require(open("/dev/null", O_RDONLY | O_CLOEXEC), "open /dev/null");
    const gpu::Kfd kfd;
    int ends[2];
    int begun[2];
    gpu::require(pipe(ends), "pipe");
    gpu::require(pipe(begun), "pipe");
    close(free);
    const pid_t child = gpu::require(fork(), "fork");
    if (child == 0) {
        char end = 0;
        close(ends[1]);
        if (own)
            static_cast<void>(gpu::Kfd());
        if (write(begun[1], &end, 1) != 1)
            _exit(1);
        _exit(read(ends[0], &end, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    close(kfd.fd());
    char ready = 0;
    gpu::expect(read(begun[0], &ready, 1) == 1, "the child has failed");
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
        } else if (argv[2] == std::string("doorbells")) {
            with_doorbells(subject);
        } else if (argv[2] == std::string("inherited") || argv[2] == std::string("twice")) {
            with_inherited_kfd(subject, argv[2] == std::string("twice"));
        } else {
            with_render(subject);
        }
    });
}
