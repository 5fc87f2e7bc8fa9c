// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::engine {
struct RestoreRun;
class TaskFiles;
}  // namespace criu::engine

namespace criu::memory {
class AddressSpace;
class LazyAreas;
}  // namespace criu::memory

namespace criu::model {
struct Birth;
struct Task;
}  // namespace criu::model

namespace criu::engine {

/// The memory of one process while it is being restored.
class TaskMemory {
public:
    /// `creator`: of the process that created this one; null for the first. Outlives build().
    explicit TaskMemory(const TaskMemory* creator);
    ~TaskMemory();
    TaskMemory(const TaskMemory&) = delete;
    TaskMemory& operator=(const TaskMemory&) = delete;

    /// Whether a process that this one creates may share pages with it (copy on write): then memory is built before any
    /// is created, so that it is handed on by fork.
    [[nodiscard]] static bool sharesWithChildren(const RestoreRun& run, const model::Birth& birth,
                                                 const model::Task& task);

    /// Makes the mappings where they belong, beside criu's own, and fills them; `forChildren`: only what a process that
    /// is created from now on may share with this one.
    void build(const RestoreRun& run, const model::Task& task, TaskFiles& files, bool forChildren);

    /// Fills what build() has left empty.
    void complete(const RestoreRun& run, const model::Task& task);

    /// Maps the memory of devices: see memory::AddressSpace::mapDevices().
    void mapDevices(const RestoreRun& run, const model::Task& task, TaskFiles& files);

    /// Makes the contexts of asynchronous I/O, which fork doesn't hand on: when all children have been created.
    void createAioRings(const RestoreRun& run, const model::Task& task);

    /// Maps what belongs to sockets, and sets final protections: after this the content can't be touched any more.
    void seal(TaskFiles& files);

    [[nodiscard]] memory::AddressSpace& space() noexcept { return *space_; }

private:
    void fill(const RestoreRun& run, const model::Task& task, bool forChildren);

    std::unique_ptr<memory::AddressSpace> space_;
    const TaskMemory* creator_;                      ///< null once it has been built
    std::unique_ptr<const memory::LazyAreas> late_;  ///< what of it may come late; null before
};

}  // namespace criu::engine
