// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/copier.hpp"

#include <amdgpu_drm.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "criu/base/machine.hpp"
#include "criu/memory/pages/page_sink.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::uint32_t kCopyLinear = 1;  // SDMA packet header: operation 1 (copy), sub-operation 0 (linear)
constexpr std::size_t kCommandDwords = 7;
constexpr std::size_t kDwordsMultiple = 8;  // the engine reads commands in units of 8 dwords; a dword of 0 is a no-op
constexpr std::uint64_t kMaxPerCommand = std::uint64_t{1} << 21;
// Older GPUs can't copy 1 << 21 bytes by one command, because the size field is too small.
constexpr std::uint64_t kMaxPerCommandOld = kMaxPerCommand - kGpuPageSize;

constexpr std::uint64_t kCommandBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMaxHalf = kCommandBytes / 2 / (kCommandDwords * sizeof(std::uint32_t)) * kMaxPerCommandOld / 2;
constexpr std::uint64_t kPatienceSeconds = 60;
constexpr std::uint64_t kLookEvery = 100'000'000;  // interval of checks for a stop request, in nanoseconds
constexpr std::uint64_t kFinishTime = 5'000'000'000;

std::uint64_t alignUp(std::uint64_t value, std::uint64_t to) {
    return (value + to - 1) / to * to;
}

constexpr std::uint64_t kSecond = 1'000'000'000;  // nanoseconds

std::uint64_t monotonic() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Adds a hint to the error of a copy if the GPU was reset. A reset ends copies with ECANCELED and may destroy video
/// memory (amdgpu_job_run() of amdgpu_job.c, Linux 6.1).
void noteReset(Error& error) {
    if (error.code() == ECANCELED)
        error.addHint("the GPU was reset, so contents of its memory may be lost: see the kernel's log");
}

/// Runs preparations for a copy. If they throw Error, throws EngineRefused instead.
template <typename Body>
void preparing(const Body& body) {
    try {
        body();
    } catch (Error& error) {
        noteReset(error);
        // After a reset or the removal of a card (ENODEV), no other way of copying works either.
        if (error.code() == ECANCELED || error.code() == ENODEV)
            throw;
        throw EngineRefused(error);
    }
}

}  // namespace

std::vector<std::uint32_t> copyCommands(std::uint32_t family, std::uint64_t from, std::uint64_t to,
                                        std::uint64_t size) {
    const bool countsFromZero = family >= AMDGPU_FAMILY_AI;
    const std::uint64_t most = countsFromZero ? kMaxPerCommand : kMaxPerCommandOld;
    std::vector<std::uint32_t> commands;
    for (std::uint64_t done = 0; done < size;) {
        const std::uint64_t piece = std::min(size - done, most);
        const auto low = [](std::uint64_t address) { return static_cast<std::uint32_t>(address); };
        const auto high = [](std::uint64_t address) { return static_cast<std::uint32_t>(address >> 32); };
        commands.insert(commands.end(), {kCopyLinear, static_cast<std::uint32_t>(piece - (countsFromZero ? 1 : 0)), 0,
                                         low(from + done), high(from + done), low(to + done), high(to + done)});
        done += piece;
    }
    commands.resize(alignUp(commands.size(), kDwordsMultiple), 0);
    return commands;
}

/// Part of a foreign buffer, mapped in the GPU's address space, and a list of all buffers that commands use.
class Copier::Target {
public:
    Target(Copier& copier, const device::ContentPiece& piece)
        : copier_(copier),
          buffer_(copier.gpu_->importBuffer(piece.buffer, piece.start, pageAlignUp(piece.size))),
          list_(copier.gpu_->list({buffer_.get(), copier.bounce_.get(), copier.commands_.get()})) {}
    ~Target() { copier_.finishSubmitted(); }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    [[nodiscard]] std::uint64_t address() const noexcept { return buffer_->address(); }
    [[nodiscard]] const Gpu::BufferList& list() const noexcept { return *list_; }

private:
    Copier& copier_;
    std::unique_ptr<Gpu::Buffer> buffer_;
    std::unique_ptr<Gpu::BufferList> list_;
};

Copier::Copier(Kernel& kernel, std::uint32_t renderMinor, std::uint64_t limit, device::StopCheck checkStop)
    : limit_(std::max<std::uint64_t>(limit, 2 * kGpuPageSize)), checkStop_(std::move(checkStop)) {
    preparing([&] {
        gpu_ = kernel.openGpu(renderMinor);
        commands_ = gpu_->allocate(kCommandBytes);
    });
}

void Copier::prepare(std::uint64_t size) {
    const std::uint64_t most = std::min(limit_ / 2, kMaxHalf) / kGpuPageSize * kGpuPageSize;
    // A half has at most half of the size, so that the copy uses both halves and little memory. A single block of a
    // store isn't split.
    const std::uint64_t wanted = size <= memory::kContentBlock ? size : (size + 1) / 2;
    const std::uint64_t half =
        std::min<std::uint64_t>(pageAlignUp(wanted), std::max<std::uint64_t>(most, kGpuPageSize));
    if (bounce_ && halfSize() >= half)
        return;
    bounce_.reset();
    bounce_ = gpu_->allocate(2 * half);
}

void Copier::submit(std::size_t half, std::uint64_t from, std::uint64_t to, std::uint64_t size,
                    const Gpu::BufferList& list, Pending& pending) {
    const std::vector<std::uint32_t> commands = copyCommands(gpu_->family(), from, to, size);
    const std::uint64_t place = half * (kCommandBytes / 2);
    const std::uint64_t bytes = commands.size() * sizeof(std::uint32_t);
    if (bytes > kCommandBytes / 2)
        fail("{} bytes can't be copied at once", size);
    std::memcpy(commands_->memory().data() + place, commands.data(), bytes);
    preparing([&] { pending.fence = submitted_ = gpu_->submit(commands_->address() + place, bytes, list); });
    pending.size = size;
}

void Copier::await(Pending& pending) {
    const std::uint64_t patience = monotonic() + kPatienceSeconds * kSecond;
    for (;;) {
        checkStop_();
        const std::uint64_t now = monotonic();
        try {
            if (gpu_->wait(pending.fence, std::min(now + kLookEvery, patience)))
                break;
        } catch (Error& error) {
            noteReset(error);
            throw;
        }
        if (now >= patience)
            fail("the GPU didn't copy {} bytes within {} seconds", pending.size, kPatienceSeconds);
    }
    awaited_ = pending.fence;
}

/// Waits after a failure until the GPU has executed all commands: the destructors then free memory that the commands
/// use.
void Copier::finishSubmitted() noexcept {
    if (awaited_ == submitted_)
        return;
    awaited_ = submitted_;
    try {
        (void)gpu_->wait(submitted_, monotonic() + kFinishTime);
    } catch (const Error&) {
        // The caller reports the failure of the copy.
    }
}

void Copier::save(const device::ContentPiece& piece) {
    const std::uint64_t size = piece.size;
    saved_ = 0;
    std::optional<Target> target;
    preparing([&] {
        prepare(size);
        target.emplace(*this, piece);
    });
    Pending pending[2];
    std::uint64_t next = 0;
    const auto start = [&](std::size_t half) {
        const std::uint64_t part = std::min(size - next, halfSize());
        pending[half].done = next;
        submit(half, target->address() + next, bounce_->address() + half * halfSize(), part, target->list(),
               pending[half]);
        next += part;
    };
    if (size != 0)
        start(0);
    for (std::size_t half = 0; pending[half].size != 0; half ^= 1) {
        await(pending[half]);
        if (next < size)
            start(half ^ 1);
        piece.store->write(piece.position + pending[half].done,
                           bounce_->memory().subspan(half * halfSize(), pending[half].size));
        saved_ += pending[half].size;
        pending[half].size = 0;
    }
}

void Copier::load(const device::ContentPiece& piece) {
    const std::uint64_t size = piece.size;
    std::optional<Target> target;
    preparing([&] {
        prepare(size);
        target.emplace(*this, piece);
    });
    Pending pending[2];
    std::size_t half = 0;
    for (std::uint64_t next = 0; next < size; half ^= 1) {
        if (pending[half].size != 0)
            await(pending[half]);
        const std::uint64_t part = std::min(size - next, halfSize());
        piece.store->read(piece.position + next, bounce_->memory().subspan(half * halfSize(), part));
        submit(half, bounce_->address() + half * halfSize(), target->address() + next, part, target->list(),
               pending[half]);
        next += part;
    }
    for (Pending& last : pending)
        if (last.size != 0)
            await(last);
}

}  // namespace criu::amdgpu
