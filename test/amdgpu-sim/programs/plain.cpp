// SPDX-License-Identifier: GPL-2.0-only
// Uses no GPU. GPU support of criu must not change it.
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/subject.hpp"

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        constexpr std::size_t kSize = 1 << 20;
        void* place = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        gpu::expect(place != MAP_FAILED, "mmap");
        const std::span<std::byte> memory{static_cast<std::byte*>(place), kSize};
        const pid_t pid = getpid();
        gpu::fill(memory, 1);
        subject.wait([&] { gpu::check(memory, 1, "memory"); });
        gpu::check(memory, 1, "memory");
        gpu::expect(getpid() == pid, "the pid has changed");
    });
}
