// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "criu/base/thread_pool.hpp"
#include "plugins/amdgpu/dump_state.hpp"

namespace criu::amdgpu {

/// Search for submission contexts and synchronization objects in the render nodes of a frozen tree, on a kernel that
/// doesn't list contexts (Linux 6.18). Such a kernel doesn't show the priority of a context, so a dump refuses
/// contexts. Compute programs have no contexts.
///
/// To prove that a file has no context, criu queries each of 4,095 numbers (amdgpu_ctx_query2() of amdgpu_ctx.c). A new
/// context gets the lowest free number (amdgpu_ctx_alloc()), so the constructor queries only the first numbers. Threads
/// query all other numbers while the caller copies contents. The constructor also refuses files with synchronization
/// objects.
class ContextSearch {
public:
    /// Throws Error if a file has a synchronization object, or a context with one of the first numbers. `kernel` and
    /// `nodes` must outlive this object.
    ContextSearch(Kernel& kernel, const std::vector<RenderNode>& nodes);
    /// Makes the threads stop early.
    ~ContextSearch();
    ContextSearch(const ContextSearch&) = delete;
    ContextSearch& operator=(const ContextSearch&) = delete;

    /// Waits for the threads. Throws Error if a file has a context.
    void requireNone();

private:
    void search(const RenderNode& node, std::uint32_t first, std::uint32_t end);

    Kernel& kernel_;
    std::atomic<bool> ending_{false};
    ThreadPool threads_;
};

}  // namespace criu::amdgpu
