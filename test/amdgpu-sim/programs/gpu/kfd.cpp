// SPDX-License-Identifier: GPL-2.0-only
#include "gpu/kfd.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace gpu {

Kfd::Kfd() : fd_(require(open("/dev/kfd", O_RDWR | O_CLOEXEC), "open /dev/kfd")) {
    kfd_ioctl_get_version_args version{};
    call(AMDKFD_IOC_GET_VERSION, version, "GET_VERSION");
    expect(version.major_version == 1, "KFD has another major version than 1");
    for (const Node& node : nodes()) {
        // A container may get only some of the GPUs. GPUs without a render node here belong to others.
        const int render = open(node.render_path().c_str(), O_RDWR | O_CLOEXEC);
        if (render < 0 && errno == ENOENT)
            continue;
        Gpu gpu{node.id, require(render, "open of a render node")};
        gpu.node = node;
        gpu.family = Render(gpu.render_fd).family();
        kfd_ioctl_acquire_vm_args acquire{};
        acquire.drm_fd = static_cast<std::uint32_t>(gpu.render_fd);
        acquire.gpu_id = gpu.id;
        call(AMDKFD_IOC_ACQUIRE_VM, acquire, "ACQUIRE_VM");
        gpus_.push_back(gpu);
    }
}

void Kfd::call_raw(unsigned long request, void* arguments, const char* what) const {
    if (const int error = attempt_raw(request, arguments); error != 0) {
        errno = error;
        fail_errno(what);
    }
}

int Kfd::attempt_raw(unsigned long request, void* arguments) const {
    int result = 0;
    do {
        result = ioctl(fd_, request, arguments);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    return result == 0 ? 0 : errno;
}

Memory Kfd::allocate(const Gpu& gpu, std::size_t size, std::uint32_t flags) const {
    void* place = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    expect(place != MAP_FAILED, "mmap of an address range");
    kfd_ioctl_alloc_memory_of_gpu_args arguments{};
    arguments.va_addr = reinterpret_cast<std::uint64_t>(place);
    arguments.size = size;
    arguments.gpu_id = gpu.id;
    arguments.flags = flags;
    call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, arguments, "ALLOC_MEMORY_OF_GPU");
    Memory memory{arguments.handle, arguments.va_addr, size, false};
    const bool own_device = (flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)) != 0;
    memory.visible = (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) == 0 || (flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC) != 0;
    if (memory.visible) {
        void* mapped = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                            own_device ? fd_ : gpu.render_fd, static_cast<off_t>(arguments.mmap_offset));
        if (mapped == MAP_FAILED) {
            fail_errno("mmap of GPU memory");
        }
    }
    map(memory, {gpu.id});
    return memory;
}

Memory Kfd::userptr(const Gpu& gpu, std::span<std::byte> memory) const {
    kfd_ioctl_alloc_memory_of_gpu_args arguments{};
    arguments.va_addr = reinterpret_cast<std::uint64_t>(memory.data());
    arguments.mmap_offset = arguments.va_addr;
    arguments.size = memory.size();
    arguments.gpu_id = gpu.id;
    arguments.flags = kUserptr;
    call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, arguments, "ALLOC_MEMORY_OF_GPU of process memory");
    Memory result{arguments.handle, arguments.va_addr, memory.size(), true};
    map(result, {gpu.id});
    return result;
}

void Kfd::map(const Memory& memory, std::initializer_list<std::uint32_t> gpu_ids) const {
    kfd_ioctl_map_memory_to_gpu_args arguments{};
    arguments.handle = memory.handle;
    arguments.device_ids_array_ptr = reinterpret_cast<std::uint64_t>(gpu_ids.begin());
    arguments.n_devices = static_cast<std::uint32_t>(gpu_ids.size());
    call(AMDKFD_IOC_MAP_MEMORY_TO_GPU, arguments, "MAP_MEMORY_TO_GPU");
}

void Kfd::unmap(const Memory& memory, std::initializer_list<std::uint32_t> gpu_ids) const {
    kfd_ioctl_unmap_memory_from_gpu_args arguments{};
    arguments.handle = memory.handle;
    arguments.device_ids_array_ptr = reinterpret_cast<std::uint64_t>(gpu_ids.begin());
    arguments.n_devices = static_cast<std::uint32_t>(gpu_ids.size());
    call(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, arguments, "UNMAP_MEMORY_FROM_GPU");
}

void Kfd::free(const Memory& memory) const {
    void* const place = reinterpret_cast<void*>(memory.address);
    // Keeps the address occupied while the GPU has it mapped. Without the buffer, the old mapping could not be dumped.
    expect(mmap(place, memory.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == place,
           "mmap over GPU memory");
    for (const Gpu& gpu : gpus_) {
        kfd_ioctl_unmap_memory_from_gpu_args mapped{};
        mapped.handle = memory.handle;
        mapped.device_ids_array_ptr = reinterpret_cast<std::uint64_t>(&gpu.id);
        mapped.n_devices = 1;
        attempt(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, mapped);
    }
    kfd_ioctl_free_memory_of_gpu_args arguments{memory.handle};
    call(AMDKFD_IOC_FREE_MEMORY_OF_GPU, arguments, "FREE_MEMORY_OF_GPU");
    expect(munmap(place, memory.size) == 0, "munmap of GPU memory");
}

std::uint32_t Kfd::create_event(bool auto_reset) const {
    kfd_ioctl_create_event_args arguments{};
    arguments.event_type = KFD_IOC_EVENT_SIGNAL;
    arguments.auto_reset = auto_reset ? 1 : 0;
    call(AMDKFD_IOC_CREATE_EVENT, arguments, "CREATE_EVENT");
    return arguments.event_id;
}

void Kfd::set_event(std::uint32_t id) const {
    kfd_ioctl_set_event_args arguments{id, 0};
    call(AMDKFD_IOC_SET_EVENT, arguments, "SET_EVENT");
}

void Kfd::reset_event(std::uint32_t id) const {
    kfd_ioctl_reset_event_args arguments{id, 0};
    call(AMDKFD_IOC_RESET_EVENT, arguments, "RESET_EVENT");
}

std::uint32_t Kfd::wait_events(std::span<const std::uint32_t> ids, bool all, std::uint32_t milliseconds) const {
    std::vector<kfd_event_data> data(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        data[i].event_id = ids[i];
    }
    kfd_ioctl_wait_events_args arguments{};
    arguments.events_ptr = reinterpret_cast<std::uint64_t>(data.data());
    arguments.num_events = static_cast<std::uint32_t>(ids.size());
    arguments.wait_for_all = all ? 1 : 0;
    arguments.timeout = milliseconds;
    call(AMDKFD_IOC_WAIT_EVENTS, arguments, "WAIT_EVENTS");
    return arguments.wait_result;
}

int Kfd::svm(std::uint32_t operation, std::span<std::byte> memory, std::vector<std::byte>& arguments,
             std::span<const kfd_ioctl_svm_attribute> attributes) const {
    arguments.resize(sizeof(kfd_ioctl_svm_args) + attributes.size_bytes());
    kfd_ioctl_svm_args head{};
    head.start_addr = reinterpret_cast<std::uint64_t>(memory.data());
    head.size = memory.size();
    head.op = operation;
    head.nattr = static_cast<std::uint32_t>(attributes.size());
    std::memcpy(arguments.data(), &head, sizeof(head));
    std::memcpy(arguments.data() + sizeof(head), attributes.data(), attributes.size_bytes());
    const unsigned long request =
        _IOC(_IOC_READ | _IOC_WRITE, AMDKFD_IOCTL_BASE, _IOC_NR(AMDKFD_IOC_SVM), arguments.size());
    return attempt_raw(request, arguments.data());
}

void Kfd::set_svm(std::span<std::byte> memory, std::span<const kfd_ioctl_svm_attribute> attributes) const {
    std::vector<std::byte> arguments;
    if (const int error = svm(KFD_IOCTL_SVM_OP_SET_ATTR, memory, arguments, attributes); error != 0) {
        errno = error;
        fail_errno("SVM SET_ATTR");
    }
}

std::vector<kfd_ioctl_svm_attribute> Kfd::get_svm(std::span<std::byte> memory,
                                                  std::span<const kfd_ioctl_svm_attribute> attributes) const {
    std::vector<std::byte> arguments;
    if (const int error = svm(KFD_IOCTL_SVM_OP_GET_ATTR, memory, arguments, attributes); error != 0) {
        errno = error;
        fail_errno("SVM GET_ATTR");
    }
    std::vector<kfd_ioctl_svm_attribute> result(attributes.size());
    std::memcpy(result.data(), arguments.data() + sizeof(kfd_ioctl_svm_args), attributes.size_bytes());
    return result;
}

}  // namespace gpu
