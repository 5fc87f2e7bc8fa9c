// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/client_state.hpp"

#include <chrono>

#include "criu/base/error.hpp"

namespace criu::amdgpu {
namespace {

/// Time within which the GPU must complete what a client has submitted.
constexpr std::chrono::seconds kSubmissionTime{60};
/// Interval of checks for a stop request.
constexpr std::chrono::milliseconds kStopCheckInterval{100};
/// Kinds of rings (AMDGPU_HW_IP_NUM of Linux 7.3).
constexpr std::uint32_t kKinds = 10;
/// Maximum number of rings of a kind (AMDGPU_MAX_ENTITY_NUM of Linux 7.3).
constexpr std::uint32_t kMostRings = 4;

/// Waits for the latest submission of a ring. Returns false if the context has no such ring.
bool awaitRing(const Drm& drm, std::uint32_t context, const RingState& ring, const std::function<void()>& checkStop) {
    const auto patience = std::chrono::steady_clock::now() + kSubmissionTime;
    for (;;) {
        checkStop();
        const auto now = std::chrono::steady_clock::now();
        const SubmissionState state =
            drm.waitSubmission(context, ring.kind, ring.ring, kLatestSubmission, now + kStopCheckInterval);
        if (state != SubmissionState::Busy)
            return state == SubmissionState::Complete;
        if (now < patience)
            continue;
        Error error(0, fmt::format("the GPU didn't complete the submissions of context {} within {} seconds", context,
                                   kSubmissionTime.count()));
        error.addHint("dump again when the program has less work in flight");
        throw error;
    }
}

/// Finds the number of the latest submission. No call returns it, but the kernel knows no number that is greater
/// (amdgpu_ctx_get_fence() of amdgpu_ctx.c, Linux 6.1 to 7.3).
std::uint64_t latestOf(const Drm& drm, std::uint32_t context, const RingState& ring) {
    const auto exists = [&](std::uint64_t number) {
        return drm.waitSubmission(context, ring.kind, ring.ring, number, {}) != SubmissionState::Unknown;
    };
    std::uint64_t known = 0;
    std::uint64_t unknown = 1;
    while (exists(unknown)) {
        if (unknown > kMostSubmissions) {
            Error error(
                0, fmt::format("context {} has made more than {} submissions, which a restore would have to repeat",
                               context, kMostSubmissions));
            error.addHint("restart the program, and dump it earlier");
            throw error;
        }
        known = unknown;
        unknown *= 2;
    }
    while (unknown - known > 1) {
        const std::uint64_t middle = known + (unknown - known) / 2;
        (exists(middle) ? known : unknown) = middle;
    }
    return known;
}

std::vector<RingState> ringsOf(const Drm& drm, std::uint32_t context, const std::function<void()>& checkStop) {
    std::vector<RingState> rings;
    for (std::uint32_t kind = 0; kind < kKinds; ++kind)
        for (std::uint32_t number = 0; number < kMostRings; ++number) {
            RingState ring{kind, number, 0};
            if (!awaitRing(drm, context, ring, checkStop))
                break;
            ring.submissions = latestOf(drm, context, ring);
            if (ring.submissions == 0)
                continue;
            if (kind > AMDGPU_HW_IP_DMA) {
                Error error(0, fmt::format("context {} has used engine {} for video, whose sessions can't be read out",
                                           context, kind));
                error.addHint("have the program end its use of VA-API before the dump");
                throw error;
            }
            rings.push_back(ring);
        }
    return rings;
}

std::vector<ContextState> readContexts(const Drm& drm, const std::function<void()>& checkStop) {
    const auto listed = drm.contexts();
    if (!listed)
        fail("the kernel doesn't list the contexts of this file");
    std::vector<ContextState> contexts;
    for (const uapi::ContextEntry& entry : *listed) {
        if (entry.handle == 0 || entry.handle >= kEndOfContexts)
            fail("the kernel lists a context with the number {}", entry.handle);
        if (drm.isLostContext(entry.handle)) {
            Error error(0, fmt::format("context {} is lost, because the GPU was reset", entry.handle));
            error.addHint("dump again when the program has made new contexts");
            throw error;
        }
        contexts.push_back(
            {entry.handle, entry.initialPriority, entry.pstateFlags, ringsOf(drm, entry.handle, checkStop)});
    }
    return contexts;
}

std::vector<SyncObjectState> readSyncObjects(const Drm& drm) {
    std::vector<SyncObjectState> objects;
    for (std::uint32_t handle = 1; handle < kEndOfSyncObjects; ++handle) {
        const auto point = drm.syncObjectPoint(handle);
        if (!point)
            continue;
        const SyncObjectFence fence = drm.syncObjectFence(handle);
        // Submissions of this file are complete, so the fence is another file's.
        if (fence == SyncObjectFence::Pending) {
            Error error(0, fmt::format("synchronization object {} waits for work of another program", handle));
            error.addHint("dump again when this work is complete");
            throw error;
        }
        objects.push_back({handle, fence == SyncObjectFence::Signalled, *point});
    }
    return objects;
}

}  // namespace

ClientState readClient(const Drm& drm, const std::function<void()>& checkStop) {
    ClientState state;
    state.contexts = readContexts(drm, checkStop);
    state.objects = readSyncObjects(drm);
    return state;
}

}  // namespace criu::amdgpu
