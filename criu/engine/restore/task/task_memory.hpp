// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Builds the memory of one process during its restore.
class TaskMemory {
public:
    /// `creator`: memory of the process that created this process; null for the root. It must exist until build()
    /// returns.
    explicit TaskMemory(const TaskMemory* creator);
    ~TaskMemory();
    TaskMemory(const TaskMemory&) = delete;
    TaskMemory& operator=(const TaskMemory&) = delete;

    /// Returns true if children of this process may share pages with it (copy on write). If so, the process must call
    /// build() before it creates children, so that they inherit the pages by fork.
    [[nodiscard]] static bool sharesWithChildren(const RestoreRun& run, const model::Birth& birth,
                                                 const model::Task& task);

    /// Creates the mappings of the process, in addition to those of criu, and fills them. `forChildren`: fills only
    /// pages that children may share.
    void build(const RestoreRun& run, const model::Task& task, TaskFiles& files, bool forChildren);

    /// Fills the pages that build() hasn't filled.
    void complete(const RestoreRun& run, const model::Task& task);

    /// Maps device memory (memory::AddressSpace::mapDevices()).
    void mapDevices(const RestoreRun& run, const model::Task& task, TaskFiles& files);

    /// Creates the contexts of asynchronous I/O (io_setup(2)). Call it when all children exist, because a child doesn't
    /// inherit the contexts.
    void createAioRings(const RestoreRun& run, const model::Task& task);

    /// Maps memory of sockets, and sets the final protection of all mappings. Afterwards criu can't change the content
    /// any more.
    void seal(TaskFiles& files);

    [[nodiscard]] memory::AddressSpace& space() noexcept { return *space_; }

private:
    void fill(const RestoreRun& run, const model::Task& task, bool forChildren);

    std::unique_ptr<memory::AddressSpace> space_;
    const TaskMemory* creator_;  ///< memory of the creator; null after build()
    /// Areas that the restore doesn't fill (lazy areas); null before build().
    std::unique_ptr<const memory::LazyAreas> late_;
};

}  // namespace criu::engine
