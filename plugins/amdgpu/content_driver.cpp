// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/content_driver.hpp"

#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/transfer.hpp"

namespace criu::amdgpu {

std::unique_ptr<device::ContentCopier> GpuContents::makeCopier(std::uint32_t device, device::Direction direction,
                                                               std::uint64_t bufferLimit, device::StopCheck checkStop) {
    return std::make_unique<Transfer>(kernel_, device, direction, bufferLimit, std::move(checkStop));
}

std::unique_ptr<device::FileContents> GpuContents::openContent(const ImageDir& images, const std::string& file,
                                                               std::uint64_t size) {
    return std::make_unique<device::FileContents>(amdgpu::openContent(images, file, size), kContentStart);
}

}  // namespace criu::amdgpu
