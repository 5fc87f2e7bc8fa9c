// SPDX-License-Identifier: GPL-2.0-only
// Checks that the simulated driver returns the errors of the real one, and has the behaviour that criu and programs
// rely on. Has no state for a dump.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace {

void expect_errno(int got, int wanted, const std::string& what) {
    gpu::expect(got == wanted, what + " gives \"" + std::strerror(got) + "\", not \"" + std::strerror(wanted) + "\"");
}

kfd_ioctl_criu_args criu_arguments(std::uint32_t operation) {
    kfd_ioctl_criu_args arguments{};
    arguments.op = operation;
    return arguments;
}

// A child must not use an inherited descriptor.
void check_foreign_process(const gpu::Kfd& kfd) {
    const pid_t child = gpu::require(fork(), "fork");
    if (child == 0) {
        kfd_ioctl_get_version_args version{};
        _exit(ioctl(kfd.fd(), AMDKFD_IOC_GET_VERSION, &version) == -1 && errno == EBADF ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    gpu::expect(status == 0, "a child may use its parent's descriptor of /dev/kfd");
}

// The KFD process belongs to the address space, so another descriptor has the same allocations.
void check_second_descriptor(const gpu::Kfd& kfd, const gpu::Memory& memory) {
    const int again = gpu::require(open("/dev/kfd", O_RDWR | O_CLOEXEC), "open /dev/kfd again");
    const std::uint32_t id = kfd.gpus()[0].id;
    kfd_ioctl_map_memory_to_gpu_args map{};
    map.handle = memory.handle;
    map.device_ids_array_ptr = reinterpret_cast<std::uint64_t>(&id);
    map.n_devices = 1;
    gpu::expect(ioctl(again, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map) == 0, "a second descriptor sees another process");
    close(again);
}

void check_memory(const gpu::Kfd& kfd) {
    const gpu::Gpu& gpu = kfd.gpus()[0];
    const gpu::Memory hidden = kfd.allocate(gpu, gpu::kPage, gpu::kVram);
    check_second_descriptor(kfd, hidden);
    kfd_ioctl_alloc_memory_of_gpu_args arguments{};
    arguments.va_addr = 0x100000000;
    arguments.size = gpu::kPage;
    arguments.gpu_id = gpu.id;
    arguments.flags = gpu::kVram;
    kfd.call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, arguments, "ALLOC_MEMORY_OF_GPU");
    gpu::expect(mmap(nullptr, gpu::kPage, PROT_READ, MAP_SHARED, gpu.render_fd,
                     static_cast<off_t>(arguments.mmap_offset)) == MAP_FAILED &&
                    errno == EPERM,
                "VRAM that isn't public can be mapped");
    arguments.size = 1ull << 40;
    expect_errno(kfd.attempt(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, arguments), ENOMEM, "an allocation of a TiB");
    arguments.size = gpu::kPage;
    arguments.gpu_id = 1;
    expect_errno(kfd.attempt(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, arguments), EINVAL, "an allocation on no GPU");
    arguments.gpu_id = gpu.id;
    arguments.flags = KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL;
    expect_errno(kfd.attempt(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, arguments), EINVAL, "doorbells of the wrong size");
    kfd_ioctl_free_memory_of_gpu_args no_handle{static_cast<std::uint64_t>(gpu.id) << 32 | 999};
    expect_errno(kfd.attempt(AMDKFD_IOC_FREE_MEMORY_OF_GPU, no_handle), EINVAL, "freeing what isn't there");
    kfd_ioctl_free_memory_of_gpu_args mapped{hidden.handle};
    expect_errno(kfd.attempt(AMDKFD_IOC_FREE_MEMORY_OF_GPU, mapped), EBUSY, "freeing mapped memory");
    kfd.unmap(hidden, {gpu.id});
    kfd_ioctl_unmap_memory_from_gpu_args unmapped{};
    unmapped.handle = hidden.handle;
    unmapped.device_ids_array_ptr = reinterpret_cast<std::uint64_t>(&gpu.id);
    unmapped.n_devices = 1;
    expect_errno(kfd.attempt(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, unmapped), EINVAL, "unmapping what isn't mapped");
    kfd.free(hidden);
    // mmap offsets belong to a file, so another render file doesn't map this memory.
    const gpu::Memory visible = kfd.allocate(gpu, gpu::kPage, gpu::kVisibleVram);
    kfd.free(visible);
}

// A queue stops at an access to an unmapped address and raises an event. Other queues continue.
void check_fault(const gpu::Kfd& kfd) {
    kfd_ioctl_create_event_args event{};
    event.event_type = KFD_IOC_EVENT_MEMORY;
    kfd.call(AMDKFD_IOC_CREATE_EVENT, event, "CREATE_EVENT of memory faults");
    gpu::Queue bad(kfd, kfd.gpus()[0], gpu::Queue::Kind::kSdma);
    gpu::Queue good(kfd, kfd.gpus()[0], gpu::Queue::Kind::kSdma);
    const gpu::Memory counter = kfd.allocate(kfd.gpus()[0], gpu::kPage, gpu::kVisibleVram);
    gpu::expect(bad.try_count(0x123450000), "a ring is full");
    bad.ring();
    kfd_event_data data{};
    data.event_id = event.event_id;
    kfd_ioctl_wait_events_args wait{};
    wait.events_ptr = reinterpret_cast<std::uint64_t>(&data);
    wait.num_events = 1;
    wait.timeout = 5000;
    kfd.call(AMDKFD_IOC_WAIT_EVENTS, wait, "WAIT_EVENTS");
    gpu::expect(wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE, "a memory fault raises no event");
    gpu::expect(data.memory_exception_data.va == 0x123450000 && data.memory_exception_data.gpu_id == kfd.gpus()[0].id,
                "the event of a memory fault has the wrong address or GPU");
    gpu::expect(!bad.idle(), "a queue went over a memory fault");
    gpu::expect(good.try_count(counter.address), "a ring is full");
    good.finish();
    bad.destroy();
    good.destroy();
}

// Checks the order of checkpoint operations, and that a queue is stopped between them.
void check_criu_operations(const gpu::Kfd& kfd) {
    auto unpause = criu_arguments(KFD_CRIU_OP_UNPAUSE);
    expect_errno(kfd.attempt(AMDKFD_IOC_CRIU_OP, unpause), EINVAL, "UNPAUSE of what isn't paused");
    auto early = criu_arguments(KFD_CRIU_OP_CHECKPOINT);
    early.devices = early.bos = early.priv_data = reinterpret_cast<std::uint64_t>(&early);
    expect_errno(kfd.attempt(AMDKFD_IOC_CRIU_OP, early), EINVAL, "CHECKPOINT before PROCESS_INFO");

    gpu::Queue queue(kfd, kfd.gpus()[0], gpu::Queue::Kind::kSdma);
    const gpu::Memory counter = kfd.allocate(kfd.gpus()[0], gpu::kPage, gpu::kVisibleVram);
    auto info = criu_arguments(KFD_CRIU_OP_PROCESS_INFO);
    kfd.call(AMDKFD_IOC_CRIU_OP, info, "PROCESS_INFO");
    gpu::expect(info.pid == static_cast<std::uint32_t>(getpid()), "PROCESS_INFO names another pid");
    gpu::expect(info.num_devices == kfd.gpus().size() && info.num_bos >= 4 && info.num_objects >= 1,
                "PROCESS_INFO has counted wrongly");
    gpu::expect(queue.try_count(counter.address), "a ring is full");
    queue.ring();
    usleep(50000);
    gpu::expect(!queue.idle(), "a paused queue works");

    std::vector<kfd_criu_device_bucket> devices(info.num_devices);
    std::vector<kfd_criu_bo_bucket> bos(info.num_bos);
    std::vector<std::byte> data(info.priv_data_size);
    auto checkpoint = info;
    checkpoint.op = KFD_CRIU_OP_CHECKPOINT;
    checkpoint.devices = reinterpret_cast<std::uint64_t>(devices.data());
    checkpoint.bos = reinterpret_cast<std::uint64_t>(bos.data());
    checkpoint.priv_data = reinterpret_cast<std::uint64_t>(data.data());
    checkpoint.num_bos -= 1;
    expect_errno(kfd.attempt(AMDKFD_IOC_CRIU_OP, checkpoint), EINVAL, "CHECKPOINT with a wrong count");
    checkpoint.num_bos += 1;
    kfd.call(AMDKFD_IOC_CRIU_OP, checkpoint, "CHECKPOINT");
    bool seen = false;
    for (const kfd_criu_bo_bucket& bo : bos) {
        const bool content = (bo.alloc_flags & (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_GTT)) != 0;
        gpu::expect(content == (bo.dmabuf_fd != KFD_INVALID_FD), "CHECKPOINT gives dma-bufs to the wrong buffers");
        seen = seen || (bo.addr == counter.address && bo.size == counter.size);
        if (content) {
            close(static_cast<int>(bo.dmabuf_fd));
        }
    }
    gpu::expect(seen, "CHECKPOINT leaves a buffer out");
    kfd.call(AMDKFD_IOC_CRIU_OP, unpause, "UNPAUSE");
    queue.finish();
    gpu::expect(*reinterpret_cast<const volatile std::uint64_t*>(counter.address) == 1, "a paused packet was lost");
    queue.destroy();

    auto resume = criu_arguments(KFD_CRIU_OP_RESUME);
    resume.pid = 1;
    expect_errno(kfd.attempt(AMDKFD_IOC_CRIU_OP, resume), ESRCH, "RESUME of a process without KFD");
    auto restore = checkpoint;
    restore.op = KFD_CRIU_OP_RESTORE;
    data.back() ^= std::byte{1};
    expect_errno(kfd.attempt(AMDKFD_IOC_CRIU_OP, restore), EINVAL, "RESTORE with a changed byte in the private data");
    resume.pid = static_cast<std::uint32_t>(getpid());
    kfd.call(AMDKFD_IOC_CRIU_OP, resume, "RESUME");
    expect_errno(kfd.attempt(AMDKFD_IOC_CRIU_OP, resume), EINVAL, "a second RESUME");
}

ino_t inode_of(int fd) {
    struct stat status {};
    gpu::require(fstat(fd, &status), "fstat");
    return status.st_ino;
}

void check_render(const gpu::Kfd& kfd) {
    const gpu::Render first(kfd.gpus()[0].render_fd);
    const gpu::Render second(kfd.gpus()[1].render_fd);
    gpu::Buffer buffer = first.create(16 * gpu::kPage, AMDGPU_GEM_DOMAIN_VRAM);
    first.map(buffer);
    first.map_gpu(buffer, 0x40000000);
    gpu::fill(buffer.bytes, 3);

    expect_errno(first.change_handle(buffer.handle, 77), 0, "GEM_CHANGE_HANDLE");
    expect_errno(first.change_handle(buffer.handle, 78), ENOENT, "GEM_CHANGE_HANDLE of a handle that isn't there");
    buffer.handle = 77;
    const gpu::Buffer hidden = first.create(gpu::kPage, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_NO_CPU_ACCESS);
    expect_errno(first.change_handle(hidden.handle, 77), ENOSPC, "GEM_CHANGE_HANDLE to a handle in use");
    drm_amdgpu_gem_mmap map{};
    map.in.handle = hidden.handle;
    expect_errno(first.attempt(DRM_IOCTL_AMDGPU_GEM_MMAP, &map), EPERM, "GEM_MMAP of hidden memory");

    // Each export by each file returns the same dma-buf.
    const int one = first.export_fd(buffer);
    const int two = first.export_fd(buffer);
    gpu::expect(inode_of(one) == inode_of(two), "two exports of a buffer are different dma-bufs");
    const gpu::Buffer imported = second.import_fd(one);
    const int three = second.export_fd(imported);
    gpu::expect(inode_of(one) == inode_of(three), "an import's export is another dma-buf");
    gpu::expect(first.import_fd(two).handle == buffer.handle, "an import by the owner has another handle");
    gpu::expect(second.import_fd(two).handle == imported.handle, "a second import has another handle");
    const int other = first.export_fd(hidden);
    gpu::expect(inode_of(other) != inode_of(one), "two buffers have the same dma-buf");
    for (const int fd : {one, two, three, other}) {
        close(fd);
    }

    drm_amdgpu_gem_va overlapping{};
    overlapping.handle = buffer.handle;
    overlapping.operation = AMDGPU_VA_OP_MAP;
    overlapping.flags = AMDGPU_VM_PAGE_READABLE;
    overlapping.va_address = 0x40001000;
    overlapping.map_size = gpu::kPage;
    expect_errno(first.attempt(DRM_IOCTL_AMDGPU_GEM_VA, &overlapping), EINVAL, "a mapping over another");

    gpu::Buffer target = first.create(16 * gpu::kPage, AMDGPU_GEM_DOMAIN_GTT);
    first.map(target);
    first.map_gpu(target, 0x50000000);
    const std::array both{buffer.handle, target.handle};
    first.copy(target.address, buffer.address, buffer.size, 0x60000000, both);
    gpu::check(target.bytes, 3, "what a submission has copied");
    // The engine doesn't see buffers that the list lacks.
    bool refused = false;
    try {
        first.copy(target.address, buffer.address, buffer.size, 0x70000000, std::array{target.handle});
    } catch (const gpu::Failure&) {
        refused = true;
    }
    gpu::expect(refused, "a submission may use a buffer that its list doesn't name");
}

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject&) {
        const gpu::Kfd kfd;
        gpu::expect(kfd.gpus().size() >= 2, "this test wants two GPUs");
        check_foreign_process(kfd);
        check_memory(kfd);
        check_fault(kfd);
        check_criu_operations(kfd);
        check_render(kfd);
    });
}
