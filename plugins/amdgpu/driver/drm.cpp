// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/driver/drm.hpp"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
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

void Drm::unmapVa(std::uint32_t handle, std::uint64_t at, std::uint64_t size) const noexcept {
    drm_amdgpu_gem_va args{};
    args.handle = handle;
    args.operation = AMDGPU_VA_OP_UNMAP;
    args.va_address = at >= kHole ? at | kAboveHole : at;
    args.map_size = size;
    kernel_.tryIoctl(fd_, DRM_IOCTL_AMDGPU_GEM_VA, &args);
}

std::uint32_t Drm::createUserptr(std::uint64_t address, std::uint64_t size) const {
    drm_amdgpu_gem_userptr args{};
    args.addr = address;
    args.size = size;
    args.flags = AMDGPU_GEM_USERPTR_REGISTER;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_GEM_USERPTR, &args,
                  fmt::format("make a buffer of the process' {} bytes at {:#x}", size, address));
    return args.handle;
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

bool Drm::isLostContext(std::uint32_t number) const {
    constexpr std::uint32_t kLost =
        AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST | AMDGPU_CTX_QUERY2_FLAGS_GUILTY;
    drm_amdgpu_ctx args{};
    args.in.op = AMDGPU_CTX_OP_QUERY_STATE2;
    args.in.ctx_id = number;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_CTX, &args, fmt::format("ask for the state of context {}", number));
    return (args.out.state.flags & kLost) != 0;
}

std::uint32_t Drm::createContext(std::int32_t priority) const {
    drm_amdgpu_ctx args{};
    args.in.op = AMDGPU_CTX_OP_ALLOC_CTX;
    args.in.priority = priority;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_CTX, &args, fmt::format("create a context of priority {}", priority));
    return args.out.alloc.ctx_id;
}

void Drm::destroyContext(std::uint32_t number) const {
    drm_amdgpu_ctx args{};
    args.in.op = AMDGPU_CTX_OP_FREE_CTX;
    args.in.ctx_id = number;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_CTX, &args, fmt::format("destroy context {}", number));
}

void Drm::setPstate(std::uint32_t context, std::uint32_t flags) const {
    drm_amdgpu_ctx args{};
    args.in.op = AMDGPU_CTX_OP_SET_STABLE_PSTATE;
    args.in.flags = flags;
    args.in.ctx_id = context;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_CTX, &args, fmt::format("set the power state of context {}", context));
}

std::uint64_t Drm::submit(std::uint32_t context, std::uint32_t kind, std::uint32_t ring, Commands commands,
                          std::uint32_t buffer) const {
    drm_amdgpu_bo_list_entry entry{buffer, 0};
    drm_amdgpu_bo_list_in list{};
    list.operation = list.list_handle = ~std::uint32_t{0};
    list.bo_number = 1;
    list.bo_info_size = sizeof(entry);
    list.bo_info_ptr = reinterpret_cast<std::uint64_t>(&entry);
    drm_amdgpu_cs_chunk_ib ib{};
    ib.va_start = commands.address;
    ib.ib_bytes = commands.bytes;
    ib.ip_type = kind;
    ib.ring = ring;
    drm_amdgpu_cs_chunk chunks[] = {
        {AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / sizeof(std::uint32_t), reinterpret_cast<std::uint64_t>(&list)},
        {AMDGPU_CHUNK_ID_IB, sizeof(ib) / sizeof(std::uint32_t), reinterpret_cast<std::uint64_t>(&ib)}};
    std::uint64_t pointers[] = {reinterpret_cast<std::uint64_t>(&chunks[0]),
                                reinterpret_cast<std::uint64_t>(&chunks[1])};
    drm_amdgpu_cs args{};
    args.in.ctx_id = context;
    args.in.num_chunks = std::size(pointers);
    args.in.chunks = reinterpret_cast<std::uint64_t>(pointers);
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_CS, &args, fmt::format("submit commands to context {}", context));
    return args.out.handle;
}

SubmissionState Drm::waitSubmission(std::uint32_t context, std::uint32_t kind, std::uint32_t ring, std::uint64_t number,
                                    std::chrono::steady_clock::time_point until) const {
    drm_amdgpu_wait_cs args{};
    args.in.handle = number;
    // The kernel compares the time with CLOCK_MONOTONIC, which is std::chrono::steady_clock on Linux.
    args.in.timeout = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count());
    args.in.ip_type = kind;
    args.in.ring = ring;
    args.in.ctx_id = context;
    const int code = kernel_.tryIoctl(fd_, DRM_IOCTL_AMDGPU_WAIT_CS, &args);
    if (code == EINVAL)
        return SubmissionState::Unknown;
    if (code != 0)
        failWith(code, "wait for a submission of context {}", context);
    return args.out.status != 0 ? SubmissionState::Busy : SubmissionState::Complete;
}

std::optional<std::uint64_t> Drm::syncObjectPoint(std::uint32_t handle) const {
    std::uint64_t point = 0;
    drm_syncobj_timeline_array args{};
    args.handles = reinterpret_cast<std::uint64_t>(&handle);
    args.points = reinterpret_cast<std::uint64_t>(&point);
    args.count_handles = 1;
    // ENOENT: no such handle (drm_syncobj_array_find() of drm_syncobj.c, Linux 5.2 to 7.3).
    const int code = kernel_.tryIoctl(fd_, DRM_IOCTL_SYNCOBJ_QUERY, &args);
    if (code != 0 && code != ENOENT)
        failWith(code, "ask whether a render node has synchronization object {}", handle);
    return code == 0 ? std::optional(point) : std::nullopt;
}

SyncObjectFence Drm::syncObjectFence(std::uint32_t handle) const {
    drm_syncobj_wait args{};
    args.handles = reinterpret_cast<std::uint64_t>(&handle);
    args.count_handles = 1;
    // Without flags, a wait for an object that has no fence ends with EINVAL (drm_syncobj_array_wait_timeout()).
    switch (const int code = kernel_.tryIoctl(fd_, DRM_IOCTL_SYNCOBJ_WAIT, &args)) {
        case 0:
            return SyncObjectFence::Signalled;
        case EINVAL:
            return SyncObjectFence::None;
        case ETIME:
            return SyncObjectFence::Pending;
        default:
            failWith(code, "ask for the fence of synchronization object {}", handle);
    }
}

std::uint32_t Drm::createSyncObject() const {
    drm_syncobj_create args{};
    kernel_.ioctl(fd_, DRM_IOCTL_SYNCOBJ_CREATE, &args, "create a synchronization object");
    return args.handle;
}

void Drm::destroySyncObject(std::uint32_t handle) const {
    drm_syncobj_destroy args{};
    args.handle = handle;
    kernel_.ioctl(fd_, DRM_IOCTL_SYNCOBJ_DESTROY, &args, fmt::format("destroy synchronization object {}", handle));
}

void Drm::signalSyncObject(std::uint32_t handle, std::uint64_t point) const {
    const std::string what = fmt::format("signal synchronization object {}", handle);
    if (point == 0) {
        drm_syncobj_array args{};
        args.handles = reinterpret_cast<std::uint64_t>(&handle);
        args.count_handles = 1;
        kernel_.ioctl(fd_, DRM_IOCTL_SYNCOBJ_SIGNAL, &args, what);
        return;
    }
    drm_syncobj_timeline_array args{};
    args.handles = reinterpret_cast<std::uint64_t>(&handle);
    args.points = reinterpret_cast<std::uint64_t>(&point);
    args.count_handles = 1;
    kernel_.ioctl(fd_, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &args, what);
}

std::uint32_t Drm::family() const {
    drm_amdgpu_info_device device{};
    drm_amdgpu_info args{};
    args.return_pointer = reinterpret_cast<std::uint64_t>(&device);
    args.return_size = sizeof(device);
    args.query = AMDGPU_INFO_DEV_INFO;
    kernel_.ioctl(fd_, DRM_IOCTL_AMDGPU_INFO, &args, "ask for the family of a GPU");
    return device.family;
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
