// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plugins/amdgpu/copier.hpp"
#include "plugins/amdgpu/cpu_copier.hpp"

namespace criu::amdgpu {

enum class Direction { Save, Load };

/// The content of one buffer and its place in a file.
struct ContentJob {
    UniqueFd dmabuf;
    std::uint64_t size = 0;
    int file = -1;  ///< stays the caller's, open as long as the job
    std::uint64_t offset = 0;
};

/// Moves contents of one GPU's buffers by its copy engine, and where that refuses, by the processor. For one thread.
class Transfer {
public:
    Transfer(Kernel& kernel, std::uint32_t renderMinor, Direction direction, std::uint64_t bufferLimit, Pulse pulse)
        : kernel_(kernel), minor_(renderMinor), direction_(direction), limit_(bufferLimit), pulse_(std::move(pulse)) {}

    void move(const ContentJob& job);
    /// Why the engine refused for the first time; empty if it never did.
    [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

private:
    void byEngine(const ContentJob& job);
    void byProcessor(const ContentJob& job);

    Kernel& kernel_;
    std::uint32_t minor_;
    Direction direction_;
    std::uint64_t limit_;
    Pulse pulse_;
    std::unique_ptr<Copier> engine_;
    std::unique_ptr<CpuCopier> processor_;
    std::string refusal_;
};

}  // namespace criu::amdgpu
