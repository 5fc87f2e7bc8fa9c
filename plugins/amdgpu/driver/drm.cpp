// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/driver/drm.hpp"

#include <fcntl.h>

#include <algorithm>
#include <span>

namespace criu::amdgpu {
namespace {

/// Number of entries in the first call that lists buffers or contexts. If the kernel has more entries, it returns their
/// number, and the second call has room for all.
constexpr std::uint32_t kFirstRoom = 8;
constexpr std::uint32_t kMostRoom = 1U << 22;
constexpr int kMaxRounds = 10;

// GPU addresses have a hole, like processor addresses. The bits above the hole are set in all addresses above it.
// GEM_VA needs these bits, but the kernel's lists lack them (AMDGPU_GMC_HOLE_MASK of Linux).
constexpr std::uint64_t kHole = 0x0000800000000000;
constexpr std::uint64_t kAboveHole = 0xffff000000000000;

}  // namespace

std::string Drm::driver() const {
    char name[64] = {};
    drm_version version{};
    version.name = name;
    version.name_len = sizeof(name) - 1;
    if (kernel_.tryIoctl(fd_, DRM_IOCTL_VERSION, &version) != 0)
        return {};
    return name;
}

bool Drm::canList() const {
    std::vector<uapi::GemListEntry> entries(kFirstRoom);
    return tryList(entries).has_value();
}

/// Returns the number of buffers, and fills `entries` if it has room for all of them. Returns nullopt if the kernel
/// lacks GEM_LIST_HANDLES (before Linux 6.18).
std::optional<std::uint32_t> Drm::tryList(std::vector<uapi::GemListEntry>& entries) const {
    uapi::GemListHandles args{reinterpret_cast<std::uint64_t>(entries.data()),
                              static_cast<std::uint32_t>(entries.size()), 0};
    const int code = kernel_.tryIoctl(fd_, uapi::kGemListHandles, &args);
    if (code == EINVAL || code == ENOTTY || code == EOPNOTSUPP)
        return std::nullopt;
    if (code != 0)
        failWith(code, "list the buffers of a render node");
    if (args.count > kMostRoom)
        fail("a render node reports {} buffers", args.count);
    return args.count;
}

std::optional<std::vector<uapi::GemListEntry>> Drm::buffers() const {
    std::vector<uapi::GemListEntry> entries(kFirstRoom);
    for (int round = 0; round < kMaxRounds; ++round) {
        const std::optional<std::uint32_t> count = tryList(entries);
        if (!count)
            return std::nullopt;
        const bool all = *count <= entries.size();
        entries.resize(*count);
        if (all)
            return entries;
    }
    fail("the buffers of a render node keep growing");
}

std::vector<uapi::VmEntry> Drm::mappings(std::uint32_t handle) const {
    std::vector<uapi::VmEntry> entries(kFirstRoom);
    for (int round = 0; round < kMaxRounds; ++round) {
        uapi::GemOp args{handle, uapi::kGetMappingInfo, reinterpret_cast<std::uint64_t>(entries.data()),
                         static_cast<std::uint32_t>(entries.size()), 0};
        kernel_.ioctl(fd_, uapi::kGemOp, &args, fmt::format("ask where buffer {} is mapped", handle));
        if (args.count > kMostRoom)
            fail("buffer {} has {} mappings", handle, args.count);
        const bool all = args.count <= entries.size();
        entries.resize(args.count);
        if (all)
            return entries;
    }
    fail("the mappings of buffer {} keep growing", handle);
}

std::optional<std::uint64_t> Drm::tryMmapOffset(std::uint32_t handle) const {
    drm_amdgpu_gem_mmap args{};
    args.in.handle = handle;
    const int code = kernel_.tryIoctl(fd_, DRM_IOCTL_AMDGPU_GEM_MMAP, &args);
    if (code == EPERM)
        return std::nullopt;
    if (code != 0)
        failWith(code, "ask for the mmap offset of buffer {}", handle);
    return args.out.addr_ptr;
}

std::uint64_t Drm::mmapOffset(std::uint32_t handle) const {
    drm_amdgpu_gem_mmap args{};
    args.in.handle = handle;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_GEM_MMAP, &args, fmt::format("ask for the mmap offset of buffer {}", handle));
    return args.out.addr_ptr;
}

std::uint32_t Drm::create(std::uint64_t size, std::uint64_t alignment, std::uint64_t domains,
                          std::uint64_t flags) const {
    drm_amdgpu_gem_create args{};
    args.in.bo_size = size;
    args.in.alignment = alignment;
    args.in.domains = domains;
    args.in.domain_flags = flags;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_GEM_CREATE, &args,
                  fmt::format("make a buffer of {} bytes (domains {:#x}, flags {:#x})", size, domains, flags));
    return args.out.handle;
}

void Drm::changeHandle(std::uint32_t handle, std::uint32_t wanted) const {
    if (handle == wanted)
        return;
    uapi::GemChangeHandle args{handle, wanted};
    kernel_.ioctl(fd_, uapi::kGemChangeHandle, &args, fmt::format("give buffer {} the handle {}", handle, wanted));
}

void Drm::mapVa(std::uint32_t handle, std::uint64_t at, std::uint64_t offset, std::uint64_t size,
                std::uint32_t flags) const {
    drm_amdgpu_gem_va args{};
    args.handle = handle;
    args.operation = AMDGPU_VA_OP_MAP;
    args.flags = flags;
    args.va_address = at >= kHole ? at | kAboveHole : at;
    args.offset_in_bo = offset;
    args.map_size = size;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_GEM_VA, &args, fmt::format("map buffer {} at GPU address {:#x}", handle, at));
}

UniqueFd Drm::tryExport(std::uint32_t handle) const {
    drm_prime_handle args{};
    args.handle = handle;
    args.flags = DRM_CLOEXEC | DRM_RDWR;
    args.fd = -1;
    const int code = kernel_.tryIoctl(fd_, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);
    if (code == EPERM)
        return {};
    if (code != 0)
        failWith(code, "export buffer {}", handle);
    return UniqueFd(args.fd);
}

UniqueFd Drm::exportBuffer(std::uint32_t handle) const {
    UniqueFd fd = tryExport(handle);
    if (!fd)
        failWith(EPERM, "export buffer {}", handle);
    return fd;
}

std::uint32_t Drm::importBuffer(int dmabuf) const {
    drm_prime_handle args{};
    args.fd = dmabuf;
    kernel_.ioctl(fd_, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args, "import a DMA-BUF");
    return args.handle;
}

void Drm::close(std::uint32_t handle) const noexcept {
    drm_gem_close args{};
    args.handle = handle;
    kernel_.tryIoctl(fd_, DRM_IOCTL_GEM_CLOSE, &args);
}

BufferNotes Drm::notes(std::uint32_t handle) const {
    drm_amdgpu_gem_metadata args{};
    args.handle = handle;
    args.op = AMDGPU_GEM_METADATA_OP_GET_METADATA;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_GEM_METADATA, &args, fmt::format("ask for the metadata of buffer {}", handle));
    if (args.data.data_size_bytes > sizeof(args.data.data))
        fail("buffer {} has {} bytes of metadata", handle, args.data.data_size_bytes);
    const auto data = std::as_bytes(std::span(args.data.data)).first(args.data.data_size_bytes);
    return {args.data.tiling_info, args.data.flags, {data.begin(), data.end()}};
}

void Drm::setNotes(std::uint32_t handle, const BufferNotes& notes) const {
    drm_amdgpu_gem_metadata args{};
    if (notes.data.size() > sizeof(args.data.data))
        fail("buffer {} has {} bytes of metadata", handle, notes.data.size());
    args.handle = handle;
    args.op = AMDGPU_GEM_METADATA_OP_SET_METADATA;
    args.data.tiling_info = notes.tiling;
    args.data.flags = notes.flags;
    args.data.data_size_bytes = static_cast<std::uint32_t>(notes.data.size());
    std::copy(notes.data.begin(), notes.data.end(), std::as_writable_bytes(std::span(args.data.data)).begin());
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_GEM_METADATA, &args, fmt::format("set the metadata of buffer {}", handle));
}

bool Drm::hasContext(std::uint32_t number) const {
    drm_amdgpu_ctx args{};
    args.in.op = AMDGPU_CTX_OP_QUERY_STATE2;
    args.in.ctx_id = number;
    const int code = kernel_.tryIoctl(fd_, DRM_IOCTL_AMDGPU_CTX, &args);
    if (code != 0 && code != EINVAL)
        failWith(code, "ask whether a render node has context {}", number);
    return code == 0;
}

bool Drm::hasSyncObject(std::uint32_t handle) const {
    std::uint64_t point = 0;
    drm_syncobj_timeline_array args{};
    args.handles = reinterpret_cast<std::uint64_t>(&handle);
    args.points = reinterpret_cast<std::uint64_t>(&point);
    args.count_handles = 1;
    // ENOENT: no such handle (drm_syncobj_array_find() of drm_syncobj.c, Linux 5.2 to 7.3).
    const int code = kernel_.tryIoctl(fd_, DRM_IOCTL_SYNCOBJ_QUERY, &args);
    if (code != 0 && code != ENOENT)
        failWith(code, "ask whether a render node has synchronization object {}", handle);
    return code == 0;
}

std::optional<std::vector<uapi::ContextEntry>> Drm::contexts() const {
    std::vector<uapi::ContextEntry> entries(kFirstRoom);
    for (int round = 0; round < kMaxRounds; ++round) {
        uapi::GemListContexts args{reinterpret_cast<std::uint64_t>(entries.data()),
                                   static_cast<std::uint32_t>(entries.size()), 0};
        if (kernel_.tryIoctl(fd_, uapi::kGemListContexts, &args) != 0)
            return std::nullopt;
        if (args.count > kMostRoom)
            fail("a render node reports {} contexts", args.count);
        const bool all = args.count <= entries.size();
        entries.resize(args.count);
        if (all)
            return entries;
    }
    fail("the contexts of a render node keep growing");
}

bool Drm::canListContexts() const {
    drm_amdgpu_ctx args{};
    args.in.op = AMDGPU_CTX_OP_ALLOC_CTX;
    if (kernel_.tryIoctl(fd_, DRM_IOCTL_AMDGPU_CTX, &args) != 0)
        return false;
    const std::uint32_t made = args.out.alloc.ctx_id;
    const auto listed = contexts();
    return listed && listed->size() == 1 && listed->front().handle == made;
}

}  // namespace criu::amdgpu
