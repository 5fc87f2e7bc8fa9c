// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/context_search.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/signals_blocked.hpp"

namespace criu::amdgpu {
namespace {

/// End of the range of numbers that the constructor queries. Mesa creates one to three contexts for each file, so their
/// numbers are 1 to 3.
constexpr std::uint32_t kEndOfFirst = 9;

unsigned threadsFor(std::size_t nodes) {
    const SignalsBlocked blocked;
    return static_cast<unsigned>(std::min<std::size_t>(nodes, availableCores()));
}

[[noreturn]] void refuse(const RenderNode& node, std::uint32_t number) {
    Error error(0, fmt::format("{} has context {} of {} for graphics or video, whose state can't be read out",
                               nameOf(node.pid), number, renderPath(node.minor)));
    error.addHint("have the program end its use of OpenGL, Vulkan or VA-API before the dump");
    throw error;
}

/// Throws Error if a file has a synchronization object. criu could restore only its latest fence, and other processes
/// may share the object.
void requireNoSyncObjects(Kernel& kernel, const RenderNode& node) {
    const Drm drm(kernel, node.fd.get());
    for (std::uint32_t handle = 1; handle < kEndOfSyncObjects; ++handle) {
        if (!drm.syncObjectPoint(handle))
            continue;
        Error error(0, fmt::format("{} has synchronization object {} of {}, whose state can't be read out",
                                   nameOf(node.pid), handle, renderPath(node.minor)));
        error.addHint("have the program end its use of OpenGL, Vulkan or VA-API before the dump");
        throw error;
    }
}

}  // namespace

ContextSearch::ContextSearch(Kernel& kernel, const std::vector<RenderNode>& nodes)
    : kernel_(kernel), threads_(threadsFor(nodes.size())) {
    for (const RenderNode& node : nodes) {
        search(node, 1, kEndOfFirst);
        requireNoSyncObjects(kernel, node);
    }
    for (const RenderNode& node : nodes)
        threads_.submit([this, &node] { search(node, kEndOfFirst, kEndOfContexts); });
}

ContextSearch::~ContextSearch() {
    ending_ = true;
}

void ContextSearch::search(const RenderNode& node, std::uint32_t first, std::uint32_t end) {
    const Drm drm(kernel_, node.fd.get());
    for (std::uint32_t number = first; number < end && !ending_; ++number)
        if (drm.hasContext(number))
            refuse(node, number);
}

void ContextSearch::requireNone() {
    threads_.wait();
}

}  // namespace criu::amdgpu
