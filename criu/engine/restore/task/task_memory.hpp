// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Memory of one process during its restore.
class TaskMemory {
public:
    /// `creator`: memory of the process that created this one; null for the root. It must stay valid until build()
    /// returns.
    explicit TaskMemory(const TaskMemory* creator);
    ~TaskMemory();
    TaskMemory(const TaskMemory&) = delete;
    TaskMemory& operator=(const TaskMemory&) = delete;

    /// True if a child of this process may share pages with it (copy on write). Then build() must run before any child
    /// is created, so that the child inherits the pages by fork.
    [[nodiscard]] static bool sharesWithChildren(const RestoreRun& run, const model::Birth& birth,
                                                 const model::Task& task);

    /// Creates the mappings beside those of criu, and fills them. `forChildren`: fills only pages that children may
    /// share.
    void build(const RestoreRun& run, const model::Task& task, TaskFiles& files, bool forChildren);

    /// Fills the pages that build() has left out.
    void complete(const RestoreRun& run, const model::Task& task);

    /// Maps device memory: see memory::AddressSpace::mapDevices().
    void mapDevices(const RestoreRun& run, const model::Task& task, TaskFiles& files);

    /// Creates the contexts of asynchronous I/O. Called when all children exist, because fork(2) doesn't copy the
    /// contexts.
    void createAioRings(const RestoreRun& run, const model::Task& task);

    /// Maps memory of sockets, and sets the final protection of all mappings. The content can't be changed afterwards.
    void seal(TaskFiles& files);

    [[nodiscard]] memory::AddressSpace& space() noexcept { return *space_; }

private:
    void fill(const RestoreRun& run, const model::Task& task, bool forChildren);

    std::unique_ptr<memory::AddressSpace> space_;
    const TaskMemory* creator_;                      ///< null after build()
    std::unique_ptr<const memory::LazyAreas> late_;  ///< null before build()
};

}  // namespace criu::engine
