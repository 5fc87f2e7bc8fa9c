// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/context_search.hpp"

#include <fcntl.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/signals_blocked.hpp"

namespace criu::amdgpu {
namespace {

/// AMDGPU_VM_MAX_NUM_CTX of Linux 6.1 to 7.3. All context numbers are below this number.
constexpr std::uint32_t kEndOfContexts = 4096;
/// End of the range of synchronization objects that criu queries. A new object gets the lowest free handle (idr_alloc()
/// in drm_syncobj_get_handle()).
constexpr std::uint32_t kEndOfSyncObjects = 256;
/// End of the range of numbers that the constructor queries. Mesa creates one to three contexts for each file, so their
/// numbers are 1 to 3.
constexpr std::uint32_t kEndOfFirst = 9;

unsigned threadsFor(std::size_t nodes) {
    const SignalsBlocked blocked;
    return static_cast<unsigned>(std::min<std::size_t>(nodes, availableCores()));
}

bool canList(Kernel& kernel, const std::vector<RenderNode>& nodes) {
    if (nodes.empty())
        return false;
    const UniqueFd own = kernel.open(renderPath(nodes.front().minor), O_RDWR);
    return Drm(kernel, own.get()).canListContexts();
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
        if (!drm.hasSyncObject(handle))
            continue;
        Error error(0, fmt::format("{} has synchronization object {} of {}, whose state can't be read out",
                                   nameOf(node.pid), handle, renderPath(node.minor)));
        error.addHint("have the program end its use of OpenGL, Vulkan or VA-API before the dump");
        throw error;
    }
}

/// Throws Error if a file has a context. The kernel's list contains only handles and priorities. It lacks the
/// submission numbers and synchronization objects that clients remember, so a restore would lose this state.
void requireNoneListed(Kernel& kernel, const std::vector<RenderNode>& nodes) {
    for (const RenderNode& node : nodes) {
        const auto contexts = Drm(kernel, node.fd.get()).contexts();
        if (!contexts)
            fail("the kernel doesn't list the contexts of {} in {}", renderPath(node.minor), nameOf(node.pid));
        if (!contexts->empty())
            refuse(node, contexts->front().handle);
    }
}

}  // namespace

ContextSearch::ContextSearch(Kernel& kernel, const std::vector<RenderNode>& nodes)
    : kernel_(kernel), listed_(canList(kernel, nodes)), threads_(listed_ ? 0 : threadsFor(nodes.size())) {
    if (listed_)
        requireNoneListed(kernel, nodes);
    for (const RenderNode& node : nodes) {
        if (!listed_)
            search(node, 1, kEndOfFirst);
        requireNoSyncObjects(kernel, node);
    }
    if (listed_)
        return;
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
