// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/content.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"

namespace criu::amdgpu {

/// Driver by which ContentMover copies contents of AMD's GPUs. A device number is the minor of a GPU's render node, and
/// a buffer is a DMA-BUF. A file of content begins with the length of the content in 8 bytes (kContentStart).
class GpuContents final : public device::ContentDriver {
public:
    explicit GpuContents(Kernel& kernel) : kernel_(kernel) {}

    [[nodiscard]] Kernel& kernel() const noexcept { return kernel_; }
    [[nodiscard]] std::string_view name() const override { return "amdgpu"; }
    [[nodiscard]] std::string describe(std::uint32_t device) const override { return renderPath(device); }
    std::unique_ptr<device::ContentCopier> makeCopier(std::uint32_t device, device::Direction direction,
                                                      std::uint64_t bufferLimit, device::StopCheck checkStop) override;
    std::unique_ptr<device::FileContents> openContent(const ImageDir& images, const std::string& file,
                                                      std::uint64_t size) override;

private:
    Kernel& kernel_;
};

}  // namespace criu::amdgpu
