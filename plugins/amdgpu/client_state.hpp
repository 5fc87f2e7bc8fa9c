// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plugins/amdgpu/driver/drm.hpp"

/// State that a client of graphics or video has in a render node besides buffers.
namespace criu::amdgpu {

/// Maximum number of submissions of a ring that a restore repeats. Each empty submission takes some microseconds.
inline constexpr std::uint64_t kMostSubmissions = std::uint64_t{1} << 24;
/// AMDGPU_VM_MAX_NUM_CTX of Linux 6.1 to 7.3. All context numbers are below this number.
inline constexpr std::uint32_t kEndOfContexts = 4096;
/// End of the range of synchronization objects that criu queries. A new object gets the lowest free handle (idr_alloc()
/// in drm_syncobj_get_handle()).
inline constexpr std::uint32_t kEndOfSyncObjects = 256;

/// Ring of a context, with at least one submission.
struct RingState {
    std::uint32_t kind = 0;         ///< AMDGPU_HW_IP_*
    std::uint32_t ring = 0;         ///< number of the ring among those of its kind
    std::uint64_t submissions = 0;  ///< number of the latest submission; the kernel counts from 1
};

/// Submission context.
struct ContextState {
    std::uint32_t number = 0;
    std::int32_t priority = 0;  ///< AMDGPU_CTX_PRIORITY_*
    std::uint32_t pstate = 0;   ///< flags of AMDGPU_CTX_OP_SET_STABLE_PSTATE
    std::vector<RingState> rings;
};

/// Synchronization object.
struct SyncObjectState {
    std::uint32_t handle = 0;
    bool signalled = false;   ///< false: the object has no fence
    std::uint64_t point = 0;  ///< point of a timeline; 0: the object is no timeline
};

struct ClientState {
    std::vector<ContextState> contexts;
    std::vector<SyncObjectState> objects;

    [[nodiscard]] bool empty() const noexcept { return contexts.empty() && objects.empty(); }
};

/// Waits until the GPU has completed all submissions of a render node's file, and reads contexts and synchronization
/// objects. The kernel must list contexts (Drm::canListContexts()). Throws Error if a context is lost or has used video
/// engines, if an object waits for another process, and with the error of `checkStop`, which is called while it waits.
[[nodiscard]] ClientState readClient(const Drm& drm, const std::function<void()>& checkStop);

}  // namespace criu::amdgpu
