// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <amdgpu_drm.h>
#include <drm.h>
#include <sys/ioctl.h>

#include <cstdint>

/// Layouts and numbers of the kernel's interface that installed headers may lack. Debian's kfd_ioctl.h includes a file
/// that isn't installed. libdrm's headers lack calls of newer kernels (6.18).
namespace criu::amdgpu::uapi {

// The compute driver, /dev/kfd.

struct KfdVersion {
    std::uint32_t major;
    std::uint32_t minor;
};
inline constexpr unsigned long kKfdGetVersion = _IOR('K', 0x01, KfdVersion);

enum class CriuOp : std::uint32_t { ProcessInfo = 0, Checkpoint = 1, Unpause = 2, Restore = 3, Resume = 4 };

struct KfdCriu {
    std::uint64_t devices;
    std::uint64_t buffers;
    std::uint64_t privateData;
    std::uint64_t privateBytes;
    std::uint32_t deviceCount;
    std::uint32_t bufferCount;
    std::uint32_t objectCount;
    std::uint32_t pid;
    CriuOp op;
};
inline constexpr unsigned long kKfdCriu = _IOWR('K', 0x22, KfdCriu);

struct KfdXnackMode {
    std::int32_t enabled;
};
inline constexpr unsigned long kKfdSetXnackMode = _IOWR('K', 0x21, KfdXnackMode);

struct KfdDevice {
    std::uint32_t userGpuId;
    std::uint32_t actualGpuId;
    std::uint32_t drmFd;
    std::uint32_t padding;
};

struct KfdBuffer {
    std::uint64_t address;
    std::uint64_t size;
    std::uint64_t offset;  ///< offset for mmap(2)
    std::uint64_t restoredOffset;
    std::uint32_t gpuId;  ///< a user id
    std::uint32_t flags;
    std::uint32_t dmabufFd;
    std::uint32_t padding;
};
inline constexpr std::uint32_t kKfdVram = 1U << 0;
inline constexpr std::uint32_t kKfdGtt = 1U << 1;
inline constexpr std::uint32_t kKfdDoorbell = 1U << 3;
inline constexpr std::uint32_t kKfdMmioRemap = 1U << 4;
inline constexpr std::uint32_t kKfdExecutable = 1U << 30;
inline constexpr std::uint32_t kKfdWritable = 1U << 31;

struct KfdAllocate {
    std::uint64_t address;
    std::uint64_t size;
    std::uint64_t handle;
    std::uint64_t offset;  ///< offset for mmap(2)
    std::uint32_t gpuId;
    std::uint32_t flags;
};
inline constexpr unsigned long kKfdAllocate = _IOWR('K', 0x16, KfdAllocate);
inline constexpr unsigned long kKfdFree = _IOW('K', 0x17, std::uint64_t);

struct KfdAcquireVm {
    std::uint32_t drmFd;
    std::uint32_t gpuId;
};
inline constexpr unsigned long kKfdAcquireVm = _IOW('K', 0x15, KfdAcquireVm);

struct KfdMap {
    std::uint64_t handle;
    std::uint64_t gpuIds;
    std::uint32_t count;
    std::uint32_t done;
};
inline constexpr unsigned long kKfdMap = _IOWR('K', 0x18, KfdMap);
inline constexpr unsigned long kKfdUnmap = _IOWR('K', 0x19, KfdMap);

struct KfdImport {
    std::uint64_t address;
    std::uint64_t handle;
    std::uint32_t gpuId;
    std::uint32_t dmabufFd;
};
inline constexpr unsigned long kKfdImport = _IOWR('K', 0x1d, KfdImport);

/// Since Linux 6.4.
struct KfdExport {
    std::uint64_t handle;
    std::uint32_t flags;
    std::uint32_t dmabufFd;
};
inline constexpr unsigned long kKfdExport = _IOWR('K', 0x24, KfdExport);

struct KfdApertures {
    std::uint64_t apertures;
    std::uint32_t count;  ///< 0: the driver sets the number of GPUs
    std::uint32_t padding;
};
inline constexpr unsigned long kKfdApertures = _IOWR('K', 0x14, KfdApertures);

struct KfdAvailableMemory {
    std::uint64_t available;
    std::uint32_t gpuId;
    std::uint32_t padding;
};
inline constexpr unsigned long kKfdAvailableMemory = _IOWR('K', 0x23, KfdAvailableMemory);

/// Top bits of an mmap(2) offset of /dev/kfd. They contain the type of the mapping.
inline constexpr std::uint64_t kKfdMmapTypeMask = std::uint64_t{3} << 62;
inline constexpr std::uint64_t kKfdMmapEvents = std::uint64_t{2} << 62;
inline constexpr std::uint64_t kKfdMmapDoorbells = std::uint64_t{3} << 62;

static_assert(kKfdGetVersion == 0x80084b01 && kKfdCriu == 0xc0384b22);
static_assert(kKfdAllocate == 0xc0284b16 && kKfdFree == 0x40084b17 && kKfdMap == 0xc0184b18);
static_assert(kKfdAcquireVm == 0x40084b15);
static_assert(kKfdUnmap == 0xc0184b19 && kKfdImport == 0xc0184b1d && kKfdExport == 0xc0104b24);
static_assert(kKfdApertures == 0xc0104b14 && kKfdAvailableMemory == 0xc0104b23);
static_assert(sizeof(KfdCriu) == 56 && sizeof(KfdDevice) == 16 && sizeof(KfdBuffer) == 48);

// Render nodes.

struct GemListHandles {
    std::uint64_t entries;
    std::uint32_t count;
    std::uint32_t padding;
};
struct GemListEntry {
    std::uint32_t handle;
    std::uint32_t flags;  ///< bit 0: imported; bit 1: memory of a process, with its address in `alignment`
    std::uint64_t size;
    std::uint64_t preferredDomains;
    std::uint64_t allocFlags;
    std::uint64_t alignment;
};
inline constexpr std::uint32_t kListImported = 1;
inline constexpr std::uint32_t kListUserptr = 2;  ///< in review for Linux since June 2026
inline constexpr unsigned long kGemListHandles = _IOWR('d', 0x59, GemListHandles);

/// Flags with which programs may create a buffer (amdgpu_gem_create_ioctl() of Linux 6.18). The kernel's lists may
/// contain further flags, which the driver sets.
inline constexpr std::uint64_t kDiscardable = 1U << 12;
inline constexpr std::uint64_t kGfx12Dcc = 1U << 16;
inline constexpr std::uint64_t kCreateFlags = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED | AMDGPU_GEM_CREATE_NO_CPU_ACCESS |
                                              AMDGPU_GEM_CREATE_CPU_GTT_USWC | AMDGPU_GEM_CREATE_VRAM_CLEARED |
                                              AMDGPU_GEM_CREATE_VM_ALWAYS_VALID | AMDGPU_GEM_CREATE_EXPLICIT_SYNC |
                                              kDiscardable | kGfx12Dcc;
/// Domains that are memory. All other domains are registers.
inline constexpr std::uint64_t kMemoryDomains = AMDGPU_GEM_DOMAIN_CPU | AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_VRAM;

/// Call that is in review for Linux since June 2026 (DRM_AMDGPU_GEM_LIST_CONTEXTS). The number may still change, so
/// criu uses the call only after a test with a file of its own.
struct GemListContexts {
    std::uint64_t contexts;
    std::uint32_t count;
    std::uint32_t padding;
};
struct ContextEntry {
    std::uint32_t handle;
    std::uint32_t flags;
    std::int32_t initialPriority;
    std::int32_t overridePriority;
    std::uint32_t pstateFlags;
    std::uint32_t padding;
};
inline constexpr unsigned long kGemListContexts = _IOWR('d', 0x60, GemListContexts);

struct GemOp {
    std::uint32_t handle;
    std::uint32_t op;
    std::uint64_t value;
    std::uint32_t count;
    std::uint32_t padding;
};
struct VmEntry {
    std::uint64_t address;
    std::uint64_t size;
    std::uint64_t offset;
    std::uint64_t flags;
};
inline constexpr std::uint32_t kGetMappingInfo = 2;
inline constexpr unsigned long kGemOp = _IOWR('d', 0x50, GemOp);

struct GemChangeHandle {
    std::uint32_t handle;
    std::uint32_t newHandle;
};
inline constexpr unsigned long kGemChangeHandle = _IOWR('d', 0xd2, GemChangeHandle);

static_assert(kGemListHandles == 0xc0106459 && kGemOp == 0xc0186450 && kGemChangeHandle == 0xc00864d2);
static_assert(kGemListContexts == 0xc0106460 && sizeof(ContextEntry) == 24);
static_assert(sizeof(GemListEntry) == 40 && sizeof(VmEntry) == 32);

}  // namespace criu::amdgpu::uapi
