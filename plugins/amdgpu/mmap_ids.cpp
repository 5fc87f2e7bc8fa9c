// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/mmap_ids.hpp"

#include <fcntl.h>

#include <algorithm>
#include <vector>

#include "criu/base/mapping.hpp"
#include "criu/kernel/probe/child.hpp"

namespace criu::amdgpu {
namespace {

constexpr unsigned kGpuShift = 46;
constexpr std::uint64_t kGpuMask = std::uint64_t{0xffff} << kGpuShift;

/// Maximum size of the private data of GPUs in bytes. Drivers have different layouts, but this RESTORE fails before it
/// reads the data.
constexpr std::size_t kRoom = 4096;
constexpr std::uint32_t kNoFile = 0xffffffff;

/// Returns an id that no GPU of this machine has.
GpuId freeId(const Topology& here) {
    GpuId id = 1;
    while (here.findGpu(id) != nullptr)
        ++id;
    return id;
}

/// Finds out the ids by calls that change the driver's state of the calling process.
MmapIds tryIds(Kernel& kernel, const Topology& here, std::vector<std::byte>& privateData) {
    const UniqueFd kfd = kernel.open(kKfdPath, O_RDWR);
    uapi::KfdApertures apertures{};
    kernel.ioctl(kfd.get(), uapi::kKfdApertures, &apertures, "ask for the number of GPUs");
    const GpuId id = freeId(here);
    // criu_restore_devices() of kfd_chardev.c sets the id of a GPU before it checks the GPU's render file (Linux 6.1 to
    // 7.3). The call fails at this check, because the file number is invalid.
    std::vector<uapi::KfdDevice> devices(apertures.count, uapi::KfdDevice{id, 0, kNoFile, 0});
    for (const Node* const gpu : here.gpus()) {
        for (uapi::KfdDevice& device : devices)
            device.actualGpuId = gpu->gpuId;
        uapi::KfdCriu args{};
        args.op = uapi::CriuOp::Restore;
        args.devices = reinterpret_cast<std::uint64_t>(devices.data());
        args.deviceCount = static_cast<std::uint32_t>(devices.size());
        args.privateData = reinterpret_cast<std::uint64_t>(privateData.data());
        args.privateBytes = privateData.size();
        (void)kernel.tryIoctl(kfd.get(), uapi::kKfdCriu, &args);
        uapi::KfdAvailableMemory available{0, id, 0};
        if (kernel.tryIoctl(kfd.get(), uapi::kKfdAvailableMemory, &available) == 0)
            return kernel.tryMap(kfd.get(), withGpu(uapi::kKfdMmapDoorbells, id)) == ENODEV ? MmapIds::Actual
                                                                                            : MmapIds::User;
    }
    fail("the driver gives no GPU another id");
}

}  // namespace

MmapIds findMmapIds(Kernel& kernel, const Topology& here, std::span<const std::byte> privateData) {
    std::vector<std::byte> data(privateData.begin(), privateData.end());
    data.resize(data.size() + kRoom);
    const Mapping memory = Mapping::anonymous(sizeof(MmapIds), MAP_SHARED);
    auto& found = *memory.as<MmapIds>();
    const bool known = kernel::probe::inChild([&] {
        found = tryIds(kernel, here, data);
        return true;
    });
    if (!known) {
        Error error(0, "can't find out by which GPU ids the compute driver maps doorbells");
        error.addHint("restore where the GPUs have the ids that they had, see --gpu-map");
        throw error;
    }
    return found;
}

bool isMappedByKfd(std::uint32_t flags) noexcept {
    return (flags & (uapi::kKfdDoorbell | uapi::kKfdMmioRemap)) != 0;
}

std::uint64_t withGpu(std::uint64_t offset, GpuId gpu) noexcept {
    return (offset & ~kGpuMask) | (std::uint64_t{gpu} << kGpuShift & kGpuMask);
}

bool hasOtherIds(std::span<const uapi::KfdDevice> devices) noexcept {
    return std::any_of(devices.begin(), devices.end(),
                       [](const uapi::KfdDevice& device) { return device.userGpuId != device.actualGpuId; });
}

}  // namespace criu::amdgpu
