// SPDX-License-Identifier: GPL-2.0-only
#include "gpu/render.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "gpu/subject.hpp"

namespace gpu {

namespace {

// The libdrm headers of Debian 12 lack this structure.
struct ChangeHandle {
    std::uint32_t handle;
    std::uint32_t new_handle;
};

constexpr std::uint64_t kCopyMax = 1u << 20;

}  // namespace

Render::Render(const std::string& path)
    : fd_(require(open(path.c_str(), O_RDWR | O_CLOEXEC), "open of a render node")) {}

int Render::attempt(unsigned long request, void* arguments) const {
    int result = 0;
    do {
        result = ioctl(fd_, request, arguments);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    return result == 0 ? 0 : errno;
}

void Render::call(unsigned long request, void* arguments, const char* what) const {
    if (const int error = attempt(request, arguments); error != 0) {
        errno = error;
        fail_errno(what);
    }
}

std::uint32_t Render::family() const {
    drm_amdgpu_info_device device{};
    drm_amdgpu_info arguments{};
    arguments.return_pointer = reinterpret_cast<std::uint64_t>(&device);
    arguments.return_size = sizeof(device);
    arguments.query = AMDGPU_INFO_DEV_INFO;
    call(DRM_IOCTL_AMDGPU_INFO, &arguments, "INFO of the device");
    return device.family;
}

Buffer Render::create(std::size_t size, std::uint64_t domain, std::uint64_t flags, std::uint64_t alignment) const {
    drm_amdgpu_gem_create arguments{};
    arguments.in.bo_size = size;
    arguments.in.alignment = alignment;
    arguments.in.domains = domain;
    arguments.in.domain_flags = flags;
    call(DRM_IOCTL_AMDGPU_GEM_CREATE, &arguments, "GEM_CREATE");
    return {arguments.out.handle, size};
}

Buffer Render::userptr(std::span<std::byte> memory) const {
    drm_amdgpu_gem_userptr arguments{};
    arguments.addr = reinterpret_cast<std::uint64_t>(memory.data());
    arguments.size = memory.size();
    arguments.flags = AMDGPU_GEM_USERPTR_ANONONLY | AMDGPU_GEM_USERPTR_REGISTER;
    call(DRM_IOCTL_AMDGPU_GEM_USERPTR, &arguments, "GEM_USERPTR");
    return {arguments.handle, memory.size(), 0, memory};
}

void Render::map(Buffer& buffer) const {
    drm_amdgpu_gem_mmap arguments{};
    arguments.in.handle = buffer.handle;
    call(DRM_IOCTL_AMDGPU_GEM_MMAP, &arguments, "GEM_MMAP");
    void* mapped =
        mmap(nullptr, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(arguments.out.addr_ptr));
    if (mapped == MAP_FAILED) {
        fail_errno("mmap of a buffer");
    }
    buffer.bytes = {static_cast<std::byte*>(mapped), buffer.size};
}

void Render::map_gpu(Buffer& buffer, std::uint64_t address, std::uint64_t offset, std::uint64_t size) const {
    drm_amdgpu_gem_va arguments{};
    arguments.handle = buffer.handle;
    arguments.operation = AMDGPU_VA_OP_MAP;
    arguments.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE;
    arguments.va_address = address;
    arguments.offset_in_bo = offset;
    arguments.map_size = size != 0 ? size : buffer.size;
    call(DRM_IOCTL_AMDGPU_GEM_VA, &arguments, "GEM_VA map");
    buffer.address = address;
}

int Render::export_fd(const Buffer& buffer) const {
    drm_prime_handle arguments{};
    arguments.handle = buffer.handle;
    arguments.flags = DRM_CLOEXEC | DRM_RDWR;
    call(DRM_IOCTL_PRIME_HANDLE_TO_FD, &arguments, "PRIME_HANDLE_TO_FD");
    return arguments.fd;
}

Buffer Render::import_fd(int dmabuf) const {
    drm_prime_handle arguments{};
    arguments.fd = dmabuf;
    call(DRM_IOCTL_PRIME_FD_TO_HANDLE, &arguments, "PRIME_FD_TO_HANDLE");
    const off_t size = require(lseek(dmabuf, 0, SEEK_END), "size of a dma-buf");
    return {arguments.handle, static_cast<std::size_t>(size)};
}

void Render::close_handle(std::uint32_t handle) const {
    drm_gem_close arguments{};
    arguments.handle = handle;
    call(DRM_IOCTL_GEM_CLOSE, &arguments, "GEM_CLOSE");
}

int Render::change_handle(std::uint32_t from, std::uint32_t to) const {
    ChangeHandle arguments{from, to};
    return attempt(DRM_IOWR(0xd2, ChangeHandle), &arguments);
}

void Render::copy(std::uint64_t to, std::uint64_t from, std::uint64_t size, std::uint64_t command_address,
                  std::span<const std::uint32_t> handles) const {
    Buffer commands = create(65536, AMDGPU_GEM_DOMAIN_GTT);
    map(commands);
    map_gpu(commands, command_address);

    const std::uint32_t device_family = family();
    std::vector<std::uint32_t> words;
    while (size != 0) {
        const std::uint64_t step = std::min(size, kCopyMax);
        for (const std::uint64_t word : {std::uint64_t{1}, std::uint64_t{copy_count(device_family, step)},
                                         std::uint64_t{0}, from & 0xffffffff, from >> 32, to & 0xffffffff, to >> 32}) {
            words.push_back(static_cast<std::uint32_t>(word));
        }
        from += step;
        to += step;
        size -= step;
    }
    words.resize((words.size() + 7) / 8 * 8, 0);
    expect(words.size() * 4 <= commands.size, "too large a copy for one submission");
    std::memcpy(commands.bytes.data(), words.data(), words.size() * 4);

    drm_amdgpu_ctx context{};
    context.in.op = AMDGPU_CTX_OP_ALLOC_CTX;
    call(DRM_IOCTL_AMDGPU_CTX, &context, "CTX alloc");
    const std::uint32_t context_id = context.out.alloc.ctx_id;

    std::vector<drm_amdgpu_bo_list_entry> entries;
    for (const std::uint32_t handle : handles) {
        entries.push_back({handle, 0});
    }
    entries.push_back({commands.handle, 0});
    drm_amdgpu_bo_list_in list{};
    list.operation = ~0u;
    list.list_handle = ~0u;
    list.bo_number = static_cast<std::uint32_t>(entries.size());
    list.bo_info_size = sizeof(entries[0]);
    list.bo_info_ptr = reinterpret_cast<std::uint64_t>(entries.data());

    drm_amdgpu_cs_chunk_ib buffer{};
    buffer.va_start = command_address;
    buffer.ib_bytes = static_cast<std::uint32_t>(words.size() * 4);
    buffer.ip_type = AMDGPU_HW_IP_DMA;
    drm_amdgpu_cs_chunk chunks[2]{};
    chunks[0] = {AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4, reinterpret_cast<std::uint64_t>(&list)};
    chunks[1] = {AMDGPU_CHUNK_ID_IB, sizeof(buffer) / 4, reinterpret_cast<std::uint64_t>(&buffer)};
    std::uint64_t pointers[2]{reinterpret_cast<std::uint64_t>(&chunks[0]), reinterpret_cast<std::uint64_t>(&chunks[1])};
    drm_amdgpu_cs submission{};
    submission.in.ctx_id = context_id;
    submission.in.num_chunks = 2;
    submission.in.chunks = reinterpret_cast<std::uint64_t>(pointers);
    call(DRM_IOCTL_AMDGPU_CS, &submission, "CS");

    drm_amdgpu_wait_cs wait{};
    wait.in.handle = submission.out.handle;
    wait.in.timeout = ~0ull;
    wait.in.ip_type = AMDGPU_HW_IP_DMA;
    wait.in.ctx_id = context_id;
    call(DRM_IOCTL_AMDGPU_WAIT_CS, &wait, "WAIT_CS");
    expect(wait.out.status == 0, "a submission waited for is not done");

    context = {};
    context.in.op = AMDGPU_CTX_OP_FREE_CTX;
    context.in.ctx_id = context_id;
    call(DRM_IOCTL_AMDGPU_CTX, &context, "CTX free");
    drm_amdgpu_gem_va unmap{};
    unmap.handle = commands.handle;
    unmap.operation = AMDGPU_VA_OP_UNMAP;
    unmap.va_address = command_address;
    unmap.map_size = commands.size;
    call(DRM_IOCTL_AMDGPU_GEM_VA, &unmap, "GEM_VA unmap");
    munmap(commands.bytes.data(), commands.bytes.size());
    close_handle(commands.handle);
}

}  // namespace gpu
