// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/features.hpp"

#include <fcntl.h>

#include <algorithm>

#include "plugins/amdgpu/driver/drm.hpp"
#include "plugins/amdgpu/driver/kfd.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {
namespace {

/// Bit in a node's capabilities: processes can share virtual memory with the GPU by SVM calls (linux/kfd_sysfs.h).
constexpr std::uint32_t kSvm = 0x08000000;

Topology topologyWithGpus(Kernel& kernel) {
    Topology topology = Topology::read(kernel.topology());
    if (topology.gpus().empty())
        fail("there is no GPU that the compute driver could use");
    return topology;
}

bool canCompute(Kernel& kernel) {
    const UniqueFd kfd = kernel.open(kKfdPath, O_RDWR);
    Kfd(kernel, kfd.get()).requireCriu();
    (void)topologyWithGpus(kernel);
    return true;
}

bool hasSvm(Kernel& kernel) {
    const Topology topology = topologyWithGpus(kernel);
    const auto gpus = topology.gpus();
    return std::all_of(gpus.begin(), gpus.end(), [](const Node* gpu) { return (gpu->capability & kSvm) != 0; });
}

/// Open render node with a small buffer, for tests of calls.
class Trial {
public:
    explicit Trial(Kernel& kernel)
        : fd_(kernel.open(renderPath(topologyWithGpus(kernel).gpus().front()->renderMinor), O_RDWR)),
          drm_(kernel, fd_.get()),
          handle_(drm_.create(kGpuPageSize, kGpuPageSize, AMDGPU_GEM_DOMAIN_GTT, 0)) {}

    [[nodiscard]] const Drm& drm() const noexcept { return drm_; }
    [[nodiscard]] std::uint32_t handle() const noexcept { return handle_; }

private:
    UniqueFd fd_;
    Drm drm_;
    std::uint32_t handle_;  ///< closing the descriptor frees the buffer
};

}  // namespace

std::vector<device::Feature> features(Kernel& kernel) {
    // On a machine without GPUs, no process needs the features.
    const auto matters = [&kernel] {
        return kernel.device(kKfdPath) != 0 && !Topology::read(kernel.topology()).gpus().empty();
    };
    const auto tried = [&kernel](const auto& test) {
        return [&kernel, test] {
            const Trial trial(kernel);
            return test(trial);
        };
    };
    constexpr std::uint32_t kOtherHandle = 1000;
    return {
        {"amdgpu", "GPUs of AMD: the compute driver dumps and restores processes",
         [&kernel] { return canCompute(kernel); }, matters},
        {"amdgpu_list_handles", "buffers of a render node are listed",
         tried([](const Trial& trial) { return trial.drm().canList(); }), matters},
        {"amdgpu_mapping_info", "mappings of a buffer on a GPU can be read",
         tried([](const Trial& trial) { return trial.drm().mappings(trial.handle()).empty(); }), matters},
        {"amdgpu_change_handle", "a buffer gets its handle back", tried([](const Trial& trial) {
             trial.drm().changeHandle(trial.handle(), kOtherHandle);
             return true;
         }),
         matters},
        {"amdgpu_dmabuf", "buffers are shared by DMA-BUF", tried([](const Trial& trial) {
             return trial.drm().importBuffer(trial.drm().exportBuffer(trial.handle()).get()) == trial.handle();
         }),
         matters},
        {"amdgpu_svm", "shared virtual memory of a GPU is dumped and restored", [&kernel] { return hasSvm(kernel); },
         matters},
    };
}

}  // namespace criu::amdgpu
