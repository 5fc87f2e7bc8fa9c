// SPDX-License-Identifier: GPL-2.0-only
// Has /dev/kfd open twice. With the argument "context" the second descriptor has a context of its own (Linux 6.19).
// With "empty" the process has no memory and no queue while it waits.
#include <fcntl.h>
#include <sys/ioctl.h>

#include <memory>
#include <string>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

// The kernel headers of Debian 12 lack AMDKFD_IOC_CREATE_PROCESS.
constexpr unsigned long kCreateProcess = _IO(AMDKFD_IOCTL_BASE, 0x25);

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        const gpu::Kfd kfd;
        const int second = gpu::require(open("/dev/kfd", O_RDWR | O_CLOEXEC), "open /dev/kfd");
        if (argc > 2 && argv[2] == std::string("context")) {
            gpu::require(ioctl(second, kCreateProcess), "CREATE_PROCESS");
        }
        if (argc > 2 && argv[2] == std::string("empty")) {
            const auto uses = [&] {
                const gpu::Memory page = kfd.allocate(kfd.gpus()[0], gpu::kPage, gpu::kVisibleVram);
                gpu::fill(page.bytes(), 1);
                gpu::check(page.bytes(), 1, "a new page");
                kfd.free(page);
            };
            uses();
            subject.wait(uses);
            uses();
            return;
        }
        gpu::Queue queue(kfd, kfd.gpus()[0], gpu::Queue::Kind::kSdma);
        const gpu::Memory counter = kfd.allocate(kfd.gpus()[0], gpu::kPage, gpu::kVisibleVram);
        std::uint64_t turns = 0;
        const auto works = [&] {
            gpu::expect(queue.try_count(counter.address), "the ring is full");
            queue.finish();
            const auto value = *reinterpret_cast<const volatile std::uint64_t*>(counter.address);
            gpu::expect(value == ++turns, "the queue has counted to " + std::to_string(value));
            kfd_ioctl_get_version_args version{};
            gpu::require(ioctl(second, AMDKFD_IOC_GET_VERSION, &version), "GET_VERSION by the second descriptor");
        };
        works();
        subject.wait(works);
        works();
    });
}
