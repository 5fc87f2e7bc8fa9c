// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/copier.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "criu/base/whole_io.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::uint32_t kCopyLinear = 1;  // operation 1 (copy), sub-operation 0
constexpr std::size_t kCommandDwords = 7;
constexpr std::size_t kDwordsMultiple = 8;  // the engine reads so many at a time; 0 does nothing
constexpr std::uint64_t kMaxPerCommand = std::uint64_t{1} << 21;
constexpr std::uint64_t kMaxPerCommandOld = kMaxPerCommand - kGpuPageSize;  // the field has no room for 1 << 21

constexpr std::uint64_t kAlign = std::uint64_t{2} << 20;  // of addresses: lets the GPU use large pages
constexpr std::uint64_t kCommandBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMaxHalf = kCommandBytes / 2 / (kCommandDwords * sizeof(std::uint32_t)) * kMaxPerCommandOld / 2;
constexpr std::uint64_t kPatienceSeconds = 60;
constexpr std::uint64_t kLookEvery = 100'000'000;  // nanoseconds
constexpr std::uint64_t kFinishTime = 5'000'000'000;
constexpr std::uint32_t kReadWrite = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE;

std::uint64_t alignUp(std::uint64_t value, std::uint64_t to) {
    return (value + to - 1) / to * to;
}

constexpr std::uint64_t kSecond = 1'000'000'000;  // nanoseconds

std::uint64_t monotonic() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

/// What is to be done before anything is copied.
template <typename Body>
void preparing(const Body& body) {
    try {
        body();
    } catch (const Error& error) {
        // A reset, after which nobody knows what is in video memory; a card that is gone.
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

/// A foreign buffer in this copier's address space, and the list of buffers that commands touch.
class Copier::Target {
public:
    Target(Copier& copier, int dmabuf, std::uint64_t size)
        : copier_(copier),
          address_(alignUp(copier.bounce_.address + copier.bounce_.size, kAlign)),
          size_(pageAlignUp(size)) {
        handle_ = copier_.drm_.importBuffer(dmabuf);
        try {
            copier_.drm_.mapVa(handle_, address_, 0, size_, kReadWrite);
            mapped_ = true;
            drm_amdgpu_bo_list_entry entries[] = {
                {handle_, 0}, {copier_.bounce_.handle, 0}, {copier_.commands_.handle, 0}};
            drm_amdgpu_bo_list args{};
            args.in.operation = AMDGPU_BO_LIST_OP_CREATE;
            args.in.bo_number = std::size(entries);
            args.in.bo_info_size = sizeof(entries[0]);
            args.in.bo_info_ptr = reinterpret_cast<std::uint64_t>(entries);
            copier_.kernel_.ioctl(copier_.drm_.fd(), DRM_IOCTL_AMDGPU_BO_LIST, &args, "list buffers for the GPU");
            list_ = args.out.list_handle;
        } catch (...) {
            drop();
            throw;
        }
    }
    ~Target() { drop(); }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
    [[nodiscard]] std::uint32_t list() const noexcept { return list_; }

private:
    void drop() noexcept {
        copier_.finishSubmitted();
        if (list_ != 0) {
            drm_amdgpu_bo_list args{};
            args.in.operation = AMDGPU_BO_LIST_OP_DESTROY;
            args.in.list_handle = list_;
            copier_.kernel_.tryIoctl(copier_.drm_.fd(), DRM_IOCTL_AMDGPU_BO_LIST, &args);
        }
        if (mapped_) {
            drm_amdgpu_gem_va args{};
            args.handle = handle_;
            args.operation = AMDGPU_VA_OP_UNMAP;
            args.va_address = address_;
            args.map_size = size_;
            copier_.kernel_.tryIoctl(copier_.drm_.fd(), DRM_IOCTL_AMDGPU_GEM_VA, &args);
        }
        copier_.drm_.close(handle_);
    }

    Copier& copier_;
    std::uint64_t address_;
    std::uint64_t size_;
    std::uint32_t handle_ = 0;
    std::uint32_t list_ = 0;
    bool mapped_ = false;
};

Copier::Copier(Kernel& kernel, std::uint32_t renderMinor, std::uint64_t limit, device::StopCheck checkStop)
    : kernel_(kernel),
      fd_(kernel.open(renderPath(renderMinor), O_RDWR)),
      drm_(kernel, fd_.get()),
      limit_(std::max<std::uint64_t>(limit, 2 * kGpuPageSize)),
      checkStop_(std::move(checkStop)) {
    preparing([&] {
        const drm_amdgpu_info_device device = drm_.information();
        family_ = device.family;
        base_ = alignUp(std::max<std::uint64_t>(device.virtual_address_offset, kAlign), kAlign);
        drm_amdgpu_ctx args{};
        args.in.op = AMDGPU_CTX_OP_ALLOC_CTX;
        kernel_.ioctl(fd_.get(), DRM_IOCTL_AMDGPU_CTX, &args, "make a GPU context");
        context_ = args.out.alloc.ctx_id;
        commands_ = makeOwn(kCommandBytes, base_);
    });
}

Copier::~Copier() {
    // The rest goes with the descriptor.
    dropOwn(bounce_);
    dropOwn(commands_);
}

Copier::Own Copier::makeOwn(std::uint64_t size, std::uint64_t at) {
    Own own;
    own.size = size;
    own.address = at;
    own.handle = drm_.create(size, kGpuPageSize, AMDGPU_GEM_DOMAIN_GTT, AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED);
    drm_.mapVa(own.handle, at, 0, size, kReadWrite | AMDGPU_VM_PAGE_EXECUTABLE);
    own.data = kernel_.map(fd_.get(), drm_.mmapOffset(own.handle), size);
    return own;
}

void Copier::dropOwn(Own& own) noexcept {
    own.data = Mapping();
    if (own.handle != 0)
        drm_.close(own.handle);
    own = Own();
}

void Copier::prepare(std::uint64_t size) {
    const std::uint64_t most = std::min(limit_ / 2, kMaxHalf) / kGpuPageSize * kGpuPageSize;
    const std::uint64_t half = std::min<std::uint64_t>(pageAlignUp(size), std::max<std::uint64_t>(most, kGpuPageSize));
    if (bounce_.handle != 0 && halfSize() >= half)
        return;
    if (bounce_.handle != 0)
        drm_.unmapVa(bounce_.handle, bounce_.address, bounce_.size);
    dropOwn(bounce_);
    bounce_ = makeOwn(2 * half, alignUp(commands_.address + commands_.size, kAlign));
}

void Copier::submit(std::size_t half, std::uint64_t from, std::uint64_t to, std::uint64_t size, std::uint32_t list,
                    Pending& pending) {
    const std::vector<std::uint32_t> commands = copyCommands(family_, from, to, size);
    const std::uint64_t place = half * (kCommandBytes / 2);
    const std::uint64_t bytes = commands.size() * sizeof(std::uint32_t);
    if (bytes > kCommandBytes / 2)
        fail("{} bytes can't be copied at once", size);
    std::memcpy(commands_.data.as<std::byte>() + place, commands.data(), bytes);

    drm_amdgpu_cs_chunk_ib ib{};
    ib.va_start = commands_.address + place;
    ib.ib_bytes = static_cast<std::uint32_t>(bytes);
    ib.ip_type = AMDGPU_HW_IP_DMA;
    drm_amdgpu_cs_chunk chunk{};
    chunk.chunk_id = AMDGPU_CHUNK_ID_IB;
    chunk.length_dw = sizeof(ib) / sizeof(std::uint32_t);
    chunk.chunk_data = reinterpret_cast<std::uint64_t>(&ib);
    const auto chunks = reinterpret_cast<std::uint64_t>(&chunk);
    drm_amdgpu_cs args{};
    args.in.ctx_id = context_;
    args.in.bo_list_handle = list;
    args.in.num_chunks = 1;
    args.in.chunks = reinterpret_cast<std::uint64_t>(&chunks);
    preparing([&] { kernel_.ioctl(fd_.get(), DRM_IOCTL_AMDGPU_CS, &args, "submit a copy to the GPU"); });
    pending.sequence = submitted_ = args.out.handle;
    pending.size = size;
}

void Copier::await(Pending& pending) {
    const std::uint64_t patience = monotonic() + kPatienceSeconds * kSecond;
    for (;;) {
        checkStop_();
        const std::uint64_t now = monotonic();
        drm_amdgpu_wait_cs args{};
        args.in.handle = pending.sequence;
        args.in.timeout = std::min(now + kLookEvery, patience);
        args.in.ip_type = AMDGPU_HW_IP_DMA;
        args.in.ctx_id = context_;
        kernel_.ioctl(fd_.get(), DRM_IOCTL_AMDGPU_WAIT_CS, &args, "wait for the GPU");
        if (args.out.status == 0)
            break;
        if (now >= patience)
            fail("the GPU didn't copy {} bytes within {} seconds", pending.size, kPatienceSeconds);
    }
    awaited_ = pending.sequence;
}

/// After a failure: waits until the GPU has ended what it was given, since the memory is going to be taken away.
void Copier::finishSubmitted() noexcept {
    if (awaited_ == submitted_)
        return;
    drm_amdgpu_wait_cs args{};
    args.in.handle = submitted_;
    args.in.timeout = monotonic() + kFinishTime;
    args.in.ip_type = AMDGPU_HW_IP_DMA;
    args.in.ctx_id = context_;
    kernel_.tryIoctl(fd_.get(), DRM_IOCTL_AMDGPU_WAIT_CS, &args);
    awaited_ = submitted_;
}

void Copier::save(int dmabuf, std::uint64_t size, int file, std::uint64_t fileOffset) {
    std::optional<Target> target;
    preparing([&] {
        prepare(size);
        target.emplace(*this, dmabuf, size);
    });
    Pending pending[2];
    std::uint64_t next = 0;
    const auto start = [&](std::size_t half) {
        const std::uint64_t piece = std::min(size - next, halfSize());
        pending[half].done = next;
        submit(half, target->address() + next, bounce_.address + half * halfSize(), piece, target->list(),
               pending[half]);
        next += piece;
    };
    if (size != 0)
        start(0);
    for (std::size_t half = 0; pending[half].size != 0; half ^= 1) {
        await(pending[half]);
        if (next < size)
            start(half ^ 1);
        writeAt(file, bounce_.data.bytes().subspan(half * halfSize(), pending[half].size),
                fileOffset + pending[half].done);
        pending[half].size = 0;
    }
}

void Copier::load(int dmabuf, std::uint64_t size, int file, std::uint64_t fileOffset) {
    std::optional<Target> target;
    preparing([&] {
        prepare(size);
        target.emplace(*this, dmabuf, size);
    });
    Pending pending[2];
    std::size_t half = 0;
    for (std::uint64_t next = 0; next < size; half ^= 1) {
        if (pending[half].size != 0)
            await(pending[half]);
        const std::uint64_t piece = std::min(size - next, halfSize());
        readAt(file, bounce_.data.bytes().subspan(half * halfSize(), piece), fileOffset + next);
        submit(half, bounce_.address + half * halfSize(), target->address() + next, piece, target->list(),
               pending[half]);
        next += piece;
    }
    for (Pending& last : pending)
        if (last.size != 0)
            await(last);
}

}  // namespace criu::amdgpu
