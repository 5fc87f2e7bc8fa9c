// SPDX-License-Identifier: GPL-2.0-only
// Has other files of render nodes than the ones that the runtime passed to the driver: one opened before, as monitoring
// tools do, and one opened later. Only the runtime's file may map new memory of the compute driver, before and after a
// restore. Queues see memory in that file's address space.
// With an argument, other files may map the memory, too, because criu can't know the right file. With the second
// argument "bare" no file has buffers that could tell criu.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::uint64_t kOwnAddress = 0x20000000;
constexpr std::uint64_t kVirtualAddress = 0x30000000;

// The kernel headers of Debian 12 lack AMDKFD_IOC_EXPORT_DMABUF.
struct Export {
    std::uint64_t handle;
    std::uint32_t flags;
    std::uint32_t dmabuf_fd;
};

std::vector<gpu::Render> open_all() {
    std::vector<gpu::Render> files;
    for (const gpu::Node& node : gpu::nodes())
        files.emplace_back(node.render_path());
    return files;
}

class Test {
public:
    // `exact`: only the runtime's file may map memory.
    Test(bool exact, bool bare) : exact_(exact) {
        for (std::size_t at = 0; at < kfd_.gpus().size(); ++at) {
            const gpu::Gpu& gpu = kfd_.gpus()[at];
            queues_.emplace_back(kfd_, gpu, gpu::Queue::Kind::kSdma);
            memory_.push_back(kfd_.allocate(gpu, kSize, gpu::kVisibleVram));
            gpu::fill(memory_.back().bytes(), at + 1);
            if (bare)
                continue;
            // Makes a buffer of the render node in the address space that queues use.
            const gpu::Render render(gpu.render_fd);
            gpu::Buffer buffer = render.create(kSize, AMDGPU_GEM_DOMAIN_VRAM);
            render.map(buffer);
            render.map_gpu(buffer, kOwnAddress);
            gpu::fill(buffer.bytes, at + 10);
            buffers_.push_back(buffer);
            virtual_.push_back(make_virtual(gpu, render, at + 20));
        }
        works();
    }

    void works() {
        for (std::size_t at = 0; at < kfd_.gpus().size(); ++at) {
            const gpu::Gpu& gpu = kfd_.gpus()[at];
            const std::string which = " of GPU " + std::to_string(at);
            gpu::check(memory_[at].bytes(), at + 1, "memory" + which);
            if (at < buffers_.size()) {
                gpu::check(buffers_[at].bytes, at + 10, "the render node's buffer" + which);
                gpu::check(virtual_[at].bytes, at + 20, "memory without an address" + which);
            }
            check_new_memory(gpu, at);
        }
    }

private:
    static constexpr std::size_t kSize = 16 * gpu::kPage;

    // Makes memory as hipMemCreate() and hipMemMap() do: memory of the compute driver without an address, imported and
    // mapped by the render node.
    gpu::Buffer make_virtual(const gpu::Gpu& gpu, const gpu::Render& render, std::uint64_t seed) const {
        kfd_ioctl_alloc_memory_of_gpu_args arguments{};
        arguments.size = kSize;
        arguments.gpu_id = gpu.id;
        arguments.flags = gpu::kVisibleVram;
        kfd_.call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, arguments, "ALLOC_MEMORY_OF_GPU without an address");
        Export exported{arguments.handle, 0, 0};
        kfd_.call(_IOWR(AMDKFD_IOCTL_BASE, 0x24, Export), exported, "EXPORT_DMABUF");
        gpu::Buffer buffer = render.import_fd(static_cast<int>(exported.dmabuf_fd));
        close(static_cast<int>(exported.dmabuf_fd));
        render.map(buffer);
        render.map_gpu(buffer, kVirtualAddress);
        gpu::fill(buffer.bytes, seed);
        return buffer;
    }

    void check_new_memory(const gpu::Gpu& gpu, std::size_t at) {
        kfd_ioctl_alloc_memory_of_gpu_args arguments{};
        void* place = mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        gpu::expect(place != MAP_FAILED, "mmap of an address range");
        arguments.va_addr = reinterpret_cast<std::uint64_t>(place);
        arguments.size = kSize;
        arguments.gpu_id = gpu.id;
        arguments.flags = gpu::kVisibleVram;
        kfd_.call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, arguments, "ALLOC_MEMORY_OF_GPU");
        const auto offset = static_cast<off_t>(arguments.mmap_offset);
        for (const auto* files : {&before_, &after_}) {
            void* other = mmap(nullptr, kSize, PROT_NONE, MAP_SHARED, (*files)[at].fd(), offset);
            gpu::expect((other == MAP_FAILED && errno == EACCES) || !exact_,
                        "another file than the runtime's maps memory of KFD");
            if (other != MAP_FAILED)
                munmap(other, kSize);
        }
        if (mmap(place, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, gpu.render_fd, offset) == MAP_FAILED)
            gpu::fail_errno("mmap of new memory by the runtime's own file");
        const gpu::Memory memory{arguments.handle, arguments.va_addr, kSize, true};
        kfd_.map(memory, {gpu.id});
        queues_[at].copy(memory.address, memory_[at].address, kSize);
        queues_[at].finish();
        gpu::check(memory.bytes(), at + 1, "what a queue has copied from other memory");
        if (at < buffers_.size())
            check_buffers(at, memory);
        kfd_.free(memory);
    }

    void check_buffers(std::size_t at, const gpu::Memory& memory) {
        queues_[at].copy(memory.address, kOwnAddress, kSize);
        queues_[at].finish();
        gpu::check(memory.bytes(), at + 10, "what a queue has copied from the render node's buffer");
        queues_[at].copy(memory.address, kVirtualAddress, kSize);
        queues_[at].finish();
        gpu::check(memory.bytes(), at + 20, "what a queue has copied from memory without an address");
    }

    bool exact_;
    std::vector<gpu::Render> before_ = open_all();
    gpu::Kfd kfd_;
    std::vector<gpu::Render> after_ = open_all();
    std::vector<gpu::Queue> queues_;
    std::vector<gpu::Memory> memory_;
    std::vector<gpu::Buffer> buffers_;
    std::vector<gpu::Buffer> virtual_;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        Test test(argc == 2, argc == 4);
        subject.wait([&] { test.works(); });
        test.works();
    });
}
