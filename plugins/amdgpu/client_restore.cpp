// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/client_restore.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "plugins/amdgpu/client_state.hpp"
#include "plugins/amdgpu/image_file.hpp"

namespace criu::amdgpu {
namespace {

/// Commands of one submission. All engines accept this length and place (HW_IP_INFO of Linux 6.1 to 7.3).
constexpr std::size_t kNoOperationBytes = 256;
/// No-op of graphics and compute engines from AMDGPU_FAMILY_CI on: a type 3 packet without body.
constexpr std::uint32_t kNoOperation = 0xffff1000;
/// Place of the no-ops of copy engines in the buffer. They are zeroes.
constexpr std::size_t kCopyNoOperations = 1024;
/// First GPU address that the driver gives to clients (AMDGPU_VA_RESERVED_BOTTOM of Linux 6.8).
constexpr std::uint64_t kFirstAddress = std::uint64_t{2} << 20;
constexpr std::uint64_t kEndOfAddresses = std::uint64_t{1} << 47;
/// Number of free places that the restore tries, because images don't name all mappings.
constexpr std::size_t kMostPlaces = 16;
/// Time within which the GPU must complete a no-op.
constexpr std::chrono::seconds kNoOperationTime{60};

/// Buffer with no-ops in the GPU address space of a file. The destructor removes it.
class NoOperations {
public:
    NoOperations(Kernel& kernel, int fd, const CriuRenderNode& image)
        : drm_(kernel, fd), handle_(drm_.create(kGpuPageSize, kGpuPageSize, AMDGPU_GEM_DOMAIN_GTT, 0)) {
        try {
            if (drm_.family() < AMDGPU_FAMILY_CI)
                fail("a GPU of this age can't repeat submissions");
            const Mapping memory = kernel.map(fd, drm_.mmapOffset(handle_), kGpuPageSize);
            std::memset(memory.data(), 0, kGpuPageSize);
            std::fill_n(memory.as<std::uint32_t>(), kNoOperationBytes / sizeof(std::uint32_t), kNoOperation);
            mapSomewhere(image);
        } catch (...) {
            drm_.close(handle_);
            throw;
        }
    }
    ~NoOperations() {
        drm_.unmapVa(handle_, address_, kGpuPageSize);
        drm_.close(handle_);
    }
    NoOperations(const NoOperations&) = delete;
    NoOperations& operator=(const NoOperations&) = delete;

    /// Repeats the submissions of a ring, and waits for the last one.
    void repeat(std::uint32_t context, const RingState& ring) const {
        const std::uint64_t at = address_ + (ring.kind == AMDGPU_HW_IP_DMA ? kCopyNoOperations : 0);
        std::uint64_t last = 0;
        while (last < ring.submissions) {
            const std::uint64_t number = drm_.submit(context, ring.kind, ring.ring, {at, kNoOperationBytes}, handle_);
            if (number != last + 1)
                fail("context {} numbers submission {} with {}", context, last + 1, number);
            last = number;
        }
        const auto until = std::chrono::steady_clock::now() + kNoOperationTime;
        if (drm_.waitSubmission(context, ring.kind, ring.ring, last, until) != SubmissionState::Complete)
            fail("the GPU didn't complete an empty submission within {} seconds", kNoOperationTime.count());
    }

private:
    /// Maps the buffer at a place that no buffer of the image has.
    void mapSomewhere(const CriuRenderNode& image) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
        for (const DrmBoEntry* const buffer : list(image.bo_entries, image.n_bo_entries))
            for (const DrmVmEntry* const vm : list(buffer->vm_entries, buffer->n_vm_entries))
                taken.emplace_back(vm->addr, vm->addr + vm->size);
        std::sort(taken.begin(), taken.end());
        taken.emplace_back(kEndOfAddresses, kEndOfAddresses);
        std::optional<Error> refusal;
        std::size_t tries = 0;
        address_ = kFirstAddress;
        for (const auto& [start, end] : taken) {
            for (; address_ + kGpuPageSize <= start && tries < kMostPlaces; ++tries) {
                try {
                    drm_.mapVa(handle_, address_, 0, kGpuPageSize,
                               AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_PAGE_EXECUTABLE);
                    return;
                } catch (const Error& error) {
                    refusal.emplace(error);
                    address_ += std::uint64_t{1} << 30;
                }
            }
            address_ = std::max(address_, end);
        }
        if (refusal)
            throw Error(*refusal);
        fail("the GPU's address space has no free place");
    }

    Drm drm_;
    std::uint32_t handle_;
    std::uint64_t address_ = 0;
};

/// Creates the contexts. A new context gets the lowest free number (amdgpu_ctx_alloc()), so contexts that the client
/// lacks first take the lower numbers.
void createContexts(const Drm& drm, const CriuRenderNode& image) {
    std::vector<std::uint32_t> unwanted;
    const auto create = [&](std::uint32_t number, std::int32_t priority) {
        if (const std::uint32_t got = drm.createContext(priority); got != number)
            fail("a new context has the number {}, the lowest one that is free is {}", got, number);
    };
    std::uint32_t next = 1;
    for (const DrmContextEntry* const context : list(image.contexts, image.n_contexts)) {
        for (; next < context->number; ++next) {
            create(next, AMDGPU_CTX_PRIORITY_NORMAL);
            unwanted.push_back(next);
        }
        create(next++, context->priority);
        if (context->pstate != 0)
            drm.setPstate(context->number, context->pstate);
    }
    for (const std::uint32_t number : unwanted)
        drm.destroyContext(number);
}

void createSyncObjects(const Drm& drm, const CriuRenderNode& image) {
    std::vector<std::uint32_t> unwanted;
    const auto create = [&](std::uint32_t handle) {
        if (const std::uint32_t got = drm.createSyncObject(); got != handle)
            fail("a new synchronization object has the handle {}, the lowest one that is free is {}", got, handle);
    };
    std::uint32_t next = 1;
    for (const DrmSyncEntry* const object : list(image.sync_objects, image.n_sync_objects)) {
        for (; next < object->handle; ++next) {
            create(next);
            unwanted.push_back(next);
        }
        create(next++);
        if (object->signalled != 0)
            drm.signalSyncObject(object->handle, object->point);
    }
    for (const std::uint32_t handle : unwanted)
        drm.destroySyncObject(handle);
}

}  // namespace

void validateClient(const CriuRenderNode& image) {
    std::uint32_t last = 0;
    for (const DrmContextEntry* const context : list(image.contexts, image.n_contexts)) {
        if (context->number <= last || context->number >= kEndOfContexts)
            fail("context {} follows context {}", context->number, last);
        last = context->number;
        for (const DrmRingEntry* const ring : list(context->rings, context->n_rings))
            if (ring->kind > AMDGPU_HW_IP_DMA || ring->submissions > kMostSubmissions)
                fail("context {} has {} submissions to engine {}", context->number, ring->submissions, ring->kind);
    }
    last = 0;
    for (const DrmSyncEntry* const object : list(image.sync_objects, image.n_sync_objects)) {
        if (object->handle <= last || object->handle >= kEndOfSyncObjects)
            fail("synchronization object {} follows object {}", object->handle, last);
        last = object->handle;
    }
}

void restoreClient(Kernel& kernel, int fd, const CriuRenderNode& image) {
    const Drm drm(kernel, fd);
    createContexts(drm, image);
    createSyncObjects(drm, image);
    std::optional<NoOperations> commands;
    for (const DrmContextEntry* const context : list(image.contexts, image.n_contexts))
        for (const DrmRingEntry* const ring : list(context->rings, context->n_rings)) {
            if (!commands)
                commands.emplace(kernel, fd, image);
            commands->repeat(context->number, {ring->kind, ring->ring, ring->submissions});
        }
}

}  // namespace criu::amdgpu
