// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "criu/device/content.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/gpu.hpp"

namespace criu::amdgpu {

/// Returns dwords of SDMA commands that copy `size` bytes between GPU addresses. The size field of family AI and later
/// counts from zero, of older ones from one.
std::vector<std::uint32_t> copyCommands(std::uint32_t family, std::uint64_t from, std::uint64_t to, std::uint64_t size);

/// The copy engine is unavailable or refuses a copy, so the caller may use another way. Not thrown if a copy has begun
/// and failed, or if the GPU's memory may be lost.
class EngineRefused : public Error {
public:
    explicit EngineRefused(Error error) : Error(std::move(error)) {}
};

/// Moves contents of one GPU's buffers to and from stores by the copy engine (SDMA). A bounce buffer has two halves:
/// the engine copies one while the store handles the other. For one thread. Failures throw Error or EngineRefused.
class Copier {
public:
    /// `limit`: maximum size of the bounce buffer in bytes.
    Copier(Kernel& kernel, std::uint32_t renderMinor, std::uint64_t limit, device::StopCheck checkStop);
    Copier(const Copier&) = delete;
    Copier& operator=(const Copier&) = delete;

    void save(const device::ContentPiece& piece);
    void load(const device::ContentPiece& piece);
    /// Returns the bytes that the last save() stored before it returned or threw. A store may accept them only once.
    [[nodiscard]] std::uint64_t saved() const noexcept { return saved_; }

private:
    struct Pending {
        std::uint64_t fence = 0;
        std::uint64_t done = 0;  ///< position of the part in the piece, in bytes
        std::uint64_t size = 0;  ///< bytes that the engine copies; 0 if it copies nothing of this half
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
    std::uint64_t submitted_ = 0;  ///< fence of the last copy
    std::uint64_t awaited_ = 0;    ///< fence of the last copy known to have ended
    std::uint64_t saved_ = 0;
    std::unique_ptr<Gpu::Buffer> commands_;
    std::unique_ptr<Gpu::Buffer> bounce_;
};

}  // namespace criu::amdgpu
