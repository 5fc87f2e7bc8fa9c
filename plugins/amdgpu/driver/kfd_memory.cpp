// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/driver/kfd_memory.hpp"

#include <fcntl.h>

#include <map>
#include <set>
#include <utility>

namespace criu::amdgpu {
namespace {

/// Number of handles that findHandles() tries on a GPU. No process has that many buffers.
constexpr std::uint32_t kMostNumbers = 1U << 20;

}  // namespace

UniqueFd KfdMemory::tryExport(std::uint64_t handle) const {
    uapi::KfdExport args{handle, O_CLOEXEC, 0};
    if (kernel_.tryIoctl(fd_, uapi::kKfdExport, &args) != 0)
        return {};
    return UniqueFd(static_cast<int>(args.dmabufFd));
}

std::uint64_t KfdMemory::allocatePage(GpuId gpu, std::uint64_t address) const {
    uapi::KfdAllocate args{};
    args.address = address;
    args.size = kGpuPageSize;
    args.gpuId = gpu;
    args.flags = uapi::kKfdGtt | uapi::kKfdWritable;
    kernel_.ioctl(fd_, uapi::kKfdAllocate, &args, "make a page of GPU memory");
    return args.handle;
}

std::uint64_t KfdMemory::import(GpuId gpu, std::uint64_t address, int dmabuf) const {
    uapi::KfdImport args{address, 0, gpu, static_cast<std::uint32_t>(dmabuf)};
    kernel_.ioctl(fd_, uapi::kKfdImport, &args, fmt::format("import the buffer at GPU address {:#x}", address));
    return args.handle;
}

void KfdMemory::free(std::uint64_t handle) const {
    kernel_.ioctl(fd_, uapi::kKfdFree, &handle, fmt::format("free GPU memory {:#x}", handle));
}

void KfdMemory::map(std::uint64_t handle, GpuId gpu) const {
    uapi::KfdMap args{handle, reinterpret_cast<std::uint64_t>(&gpu), 1, 0};
    kernel_.ioctl(fd_, uapi::kKfdMap, &args, fmt::format("map GPU memory {:#x} for GPU {:#06x}", handle, gpu));
}

bool KfdMemory::unmap(std::uint64_t handle, GpuId gpu) const {
    uapi::KfdMap args{handle, reinterpret_cast<std::uint64_t>(&gpu), 1, 0};
    const int code = kernel_.tryIoctl(fd_, uapi::kKfdUnmap, &args);
    // The buffer isn't mapped for this GPU (amdgpu_amdkfd_gpuvm_unmap_memory_from_gpu() of Linux 6.18).
    if (code == EINVAL)
        return false;
    if (code != 0)
        failWith(code, "unmap GPU memory {:#x} from GPU {:#06x}", handle, gpu);
    return true;
}

namespace {

class Importer {
public:
    Importer(Kernel& kernel, int kfd, const std::vector<GpuId>& gpus)
        : kernel_(kernel), memory_(kernel, kfd), gpus_(gpus) {}

    /// Finds the handle of each buffer. The driver doesn't report handles, so criu exports all possible handles and
    /// compares DMA-BUFs. Since Linux 6.8, each export of a buffer returns the same DMA-BUF.
    void findHandles(const std::vector<KfdImport>& imports) {
        std::map<std::pair<dev_t, ino_t>, const KfdImport*> wanted;
        std::set<std::pair<GpuId, GpuId>> ids;
        for (const KfdImport& import : imports) {
            wanted.emplace(keyOf(import.made), &import);
            ids.emplace(import.gpu, import.localGpu);
        }
        for (const auto& [gpu, local] : ids)
            for (std::uint32_t number = 0; number < kMostNumbers && !wanted.empty(); ++number) {
                const UniqueFd dmabuf = memory_.tryExport(KfdMemory::handle(local, number));
                if (!dmabuf)
                    continue;
                const auto found = wanted.find(keyOf(dmabuf.get()));
                if (found == wanted.end() || found->second->gpu != gpu)
                    continue;
                replaced_[{gpu, number}].import = found->second;
                wanted.erase(found);
            }
        if (!wanted.empty())
            fail("the driver doesn't tell the handle of the buffer at GPU address {:#x}",
                 wanted.begin()->second->address);
    }

    /// Unmaps and frees the buffers. The kernel frees the memory when the DMA-BUFs are closed, too.
    void remove() {
        for (auto& [at, replaced] : replaced_) {
            const std::uint64_t handle = KfdMemory::handle(at.first, at.second);
            for (const GpuId gpu : gpus_)
                if (memory_.unmap(handle, gpu))
                    replaced.mappedFor.push_back(gpu);
            memory_.free(handle);
        }
    }

    /// Imports the shared buffers. A new handle gets the lowest free number (idr_alloc() in
    /// kfd_process_device_create_obj_handle()), so temporary pages occupy the lower numbers.
    void put(const std::function<UniqueFd(std::uint64_t)>& fetch) {
        std::vector<std::uint64_t> fillers;
        for (const auto& [at, replaced] : replaced_) {
            const std::uint64_t wanted = KfdMemory::handle(at.first, at.second);
            const UniqueFd dmabuf = fetch(replaced.import->object);
            for (;;) {
                const std::uint64_t filler = memory_.allocatePage(at.first, replaced.import->address);
                if (filler >= wanted) {
                    memory_.free(filler);
                    break;
                }
                fillers.push_back(filler);
            }
            const std::uint64_t got = memory_.import(at.first, replaced.import->address, dmabuf.get());
            if (got != wanted)
                fail("an imported buffer has the handle {:#x}, the lowest one that is free is {:#x}", got, wanted);
            for (const GpuId gpu : replaced.mappedFor)
                memory_.map(got, gpu);
        }
        for (const std::uint64_t filler : fillers)
            memory_.free(filler);
    }

private:
    struct Replaced {
        const KfdImport* import = nullptr;
        std::vector<GpuId> mappedFor;
    };

    [[nodiscard]] std::pair<dev_t, ino_t> keyOf(int dmabuf) const {
        const struct stat status = kernel_.status(dmabuf);
        return {status.st_dev, status.st_ino};
    }

    Kernel& kernel_;
    KfdMemory memory_;
    const std::vector<GpuId>& gpus_;
    std::map<std::pair<GpuId, std::uint32_t>, Replaced> replaced_;  ///< in ascending order of GPU and number
};

}  // namespace

void importBuffers(Kernel& kernel, int kfd, const std::vector<GpuId>& gpus, const std::vector<KfdImport>& imports,
                   const std::function<UniqueFd(std::uint64_t object)>& fetch) {
    if (imports.empty())
        return;
    Importer importer(kernel, kfd, gpus);
    importer.findHandles(imports);
    importer.remove();
    importer.put(fetch);
}

}  // namespace criu::amdgpu
