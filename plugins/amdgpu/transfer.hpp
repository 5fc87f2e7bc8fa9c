// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "criu/device/content.hpp"
#include "plugins/amdgpu/copier.hpp"
#include "plugins/amdgpu/cpu_copier.hpp"

namespace criu::amdgpu {

/// Copier between DMA-BUFs of one GPU and stores. It uses the GPU's copy engine, or the processor if the engine
/// refuses.
class Transfer final : public device::ContentCopier {
public:
    Transfer(Kernel& kernel, std::uint32_t renderMinor, device::Direction direction, std::uint64_t bufferLimit,
             device::StopCheck checkStop)
        : kernel_(kernel),
          minor_(renderMinor),
          direction_(direction),
          limit_(bufferLimit),
          checkStop_(std::move(checkStop)) {}

    void copy(const device::ContentPiece& piece) override;
    /// Returns the reason for which the engine first refused a copy; empty if it never refused one.
    [[nodiscard]] const std::string& fallback() const override { return refusal_; }

private:
    void byEngine(const device::ContentPiece& piece);
    void byProcessor(const device::ContentPiece& piece);

    Kernel& kernel_;
    std::uint32_t minor_;
    device::Direction direction_;
    std::uint64_t limit_;
    device::StopCheck checkStop_;
    std::unique_ptr<Copier> engine_;
    std::unique_ptr<CpuCopier> processor_;
    std::string refusal_;
};

}  // namespace criu::amdgpu
