// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "criu/base/thread_pool.hpp"
#include "plugins/amdgpu/dump_state.hpp"

namespace criu::amdgpu {

/// Searches the render nodes of a frozen tree for submission contexts, whose state no interface returns. Compute
/// programs have none. Graphics and video clients remember submission numbers, which a new context wouldn't know.
///
/// Linux 6.18 has no list of contexts, so a proof that a file has none takes a query for each of 4,095 numbers
/// (amdgpu_ctx_query2() of amdgpu_ctx.c). The constructor queries the first numbers only: a new context gets the lowest
/// free number (amdgpu_ctx_alloc()). Threads query all other numbers while the caller copies contents. A later kernel
/// may list contexts (GEM_LIST_CONTEXTS); then the constructor makes one call for each file.
class ContextSearch {
public:
    /// Throws Error if a file has one of the first contexts. `kernel` and `nodes` must outlive this object.
    ContextSearch(Kernel& kernel, const std::vector<RenderNode>& nodes);
    /// Ends the threads early.
    ~ContextSearch();
    ContextSearch(const ContextSearch&) = delete;
    ContextSearch& operator=(const ContextSearch&) = delete;

    /// Waits for the threads. Throws Error if a file has a context.
    void requireNone();

private:
    void search(const RenderNode& node, std::uint32_t first, std::uint32_t end);

    Kernel& kernel_;
    const bool listed_;  ///< the constructor has asked for a list of each file, so no thread searches
    std::atomic<bool> ending_{false};
    ThreadPool threads_;
};

}  // namespace criu::amdgpu
