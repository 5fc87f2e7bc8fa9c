// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "criu/device/content.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/gpu.hpp"

namespace criu::amdgpu {

/// Returns SDMA commands that copy `size` bytes between GPU addresses. The size field of a command contains the size
/// minus one on GPUs of family AI and later, and the size on older GPUs.
std::vector<std::uint32_t> copyCommands(std::uint32_t family, std::uint64_t from, std::uint64_t to, std::uint64_t size);

/// Error if the copy engine is unavailable or refuses a copy. The caller may then copy by another way. Copier throws
/// other errors if a copy began and failed, or if the GPU may have lost its memory.
class EngineRefused : public Error {
public:
    explicit EngineRefused(Error error) : Error(std::move(error)) {}
};

/// Copier between buffers of one GPU and stores, by the GPU's copy engine (SDMA). A bounce buffer has two halves: the
/// engine copies one half while the store reads or writes the other half. Only one thread may use a copier. Failures
/// throw Error or EngineRefused.
class Copier {
public:
    /// `limit`: maximum size of the bounce buffer in bytes.
    Copier(Kernel& kernel, std::uint32_t renderMinor, std::uint64_t limit, device::StopCheck checkStop);
    Copier(const Copier&) = delete;
    Copier& operator=(const Copier&) = delete;

    void save(const device::ContentPiece& piece);
    void load(const device::ContentPiece& piece);
    /// Returns how many bytes the most recent save() had passed to the store when it returned or threw. Some stores
    /// accept each byte only once.
    [[nodiscard]] std::uint64_t saved() const noexcept { return saved_; }

private:
    struct Pending {
        std::uint64_t fence = 0;
        std::uint64_t done = 0;  ///< position of the part in the piece, in bytes
        std::uint64_t size = 0;  ///< bytes that the engine copies; 0 if it doesn't use this half
    };
    class Target;

    void prepare(std::uint64_t size);
    void submit(std::size_t half, std::uint64_t from, std::uint64_t to, std::uint64_t size, const Gpu::BufferList& list,
                Pending& pending);
    void await(Pending& pending);
    void finishSubmitted() noexcept;
    [[nodiscard]] std::uint64_t halfSize() const noexcept { return bounce_->size() / 2; }

    std::uint64_t limit_;
    device::StopCheck checkStop_;
    std::unique_ptr<Gpu> gpu_;
    std::uint64_t submitted_ = 0;  ///< fence of the most recent copy
    std::uint64_t awaited_ = 0;    ///< fence of the most recent copy that criu has waited for
    std::uint64_t saved_ = 0;
    std::unique_ptr<Gpu::Buffer> commands_;
    std::unique_ptr<Gpu::Buffer> bounce_;
};

}  // namespace criu::amdgpu
