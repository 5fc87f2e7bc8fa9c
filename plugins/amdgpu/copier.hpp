// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "criu/device/content.hpp"
#include "plugins/amdgpu/gpu.hpp"
#include "plugins/amdgpu/kernel.hpp"

namespace criu::amdgpu {

/// Dwords of SDMA commands that copy `size` bytes between GPU addresses. Processors of family AI and later count from
/// zero, older ones from one.
std::vector<std::uint32_t> copyCommands(std::uint32_t family, std::uint64_t from, std::uint64_t to, std::uint64_t size);

/// The copy engine can't be had, or doesn't take a copy: others may try. Not thrown where a copy was begun and failed,
/// or where the GPU's memory may be lost.
class EngineRefused : public Error {
public:
    explicit EngineRefused(Error error) : Error(std::move(error)) {}
};

/// Moves the content of buffers of one GPU to and from stores, by the GPU's copy engine (SDMA), through a bounce buffer
/// in two halves: while one is copied the other is read or written. For one thread. Every failure throws Error or
/// EngineRefused.
class Copier {
public:
    /// `limit`: most bytes of the bounce buffer.
    Copier(Kernel& kernel, std::uint32_t renderMinor, std::uint64_t limit, device::StopCheck checkStop);
    Copier(const Copier&) = delete;
    Copier& operator=(const Copier&) = delete;

    void save(const device::ContentPiece& piece);
    void load(const device::ContentPiece& piece);
    /// Bytes from its beginning that the last save() had stored when it returned or threw: a store may take them once.
    [[nodiscard]] std::uint64_t saved() const noexcept { return saved_; }

private:
    struct Pending {
        std::uint64_t fence = 0;
        std::uint64_t done = 0;  ///< bytes before this piece
        std::uint64_t size = 0;  ///< 0: none
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
    std::uint64_t submitted_ = 0;  ///< the fence of the last copy
    std::uint64_t awaited_ = 0;    ///< of the last one that is known to have ended
    std::uint64_t saved_ = 0;
    std::unique_ptr<Gpu::Buffer> commands_;
    std::unique_ptr<Gpu::Buffer> bounce_;
};

}  // namespace criu::amdgpu
