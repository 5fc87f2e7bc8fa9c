// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/content_driver.hpp"

#include "criu/kernel/sched.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/transfer.hpp"

namespace criu::amdgpu {

std::unique_ptr<device::ContentCopier> GpuContents::makeCopier(std::uint32_t device, device::Direction direction,
                                                               std::uint64_t bufferLimit, device::StopCheck checkStop) {
    // A bounce buffer is in the memory of the processor that first writes to it. Memory of another NUMA node is slower
    // for the GPU, and for the thread.
    if (const std::string cpus = kernel_.nearCpus(device); !cpus.empty())
        (void)kernel::restrictThread(cpus);
    return std::make_unique<Transfer>(kernel_, device, direction, bufferLimit, std::move(checkStop));
}

std::unique_ptr<device::FileContents> GpuContents::openContent(const ImageDir& images, const std::string& file,
                                                               std::uint64_t size) {
    return std::make_unique<device::FileContents>(amdgpu::openContent(images, file, size), kContentStart);
}

}  // namespace criu::amdgpu
