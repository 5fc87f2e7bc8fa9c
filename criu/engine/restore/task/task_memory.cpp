// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/task_memory.hpp"

#include <algorithm>
#include <utility>

#include "criu/engine/images/image_transfer.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/restore/files/task_files.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/memory/clones/clone_file.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/address_space.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "images/mm.hpp"

namespace criu::engine {

using model::Task;

TaskMemory::TaskMemory(const TaskMemory* creator)
    : space_(std::make_unique<memory::AddressSpace>()), creator_(creator) {}

TaskMemory::~TaskMemory() = default;

bool TaskMemory::sharesWithChildren(const RestoreRun& run, const model::Birth& birth, const Task& task) {
    const auto mayShare = [&](TreePid pid) {
        if (pid < TreePid() || run.births.of(pid).helper)
            return true;  // a helper has no memory to compare, but its children may share pages with this process
        const Task& child = *run.content.tree.byPid.at(pid);
        if (!child.alive())
            return false;
        const MmEntry& mine = **task.mm;
        const MmEntry& other = **child.mm;
        // Compares addresses. After execve(2), a process shares no pages with its parent, and at least the address of
        // its stack differs.
        return mine.mm_start_stack == other.mm_start_stack && mine.mm_start_code == other.mm_start_code;
    };
    return std::any_of(birth.beforeSession.begin(), birth.beforeSession.end(), mayShare) ||
           std::any_of(birth.afterSession.begin(), birth.afterSession.end(), mayShare);
}

void TaskMemory::build(const RestoreRun& run, const Task& task, TaskFiles& files, bool forChildren) {
    static const memory::AddressSpace kNothing;
    const TaskMemory* const creator = std::exchange(creator_, nullptr);
    const memory::PageSource& pages = *run.content.pages.at(task.pid);
    const std::optional<memory::CloneFile> clones = run.lazy != nullptr ? run.lazy->fileOf(task) : std::nullopt;
    *space_ = memory::AddressSpace::build(task, pages, creator != nullptr ? *creator->space_ : kNothing, run.mappings,
                                          files, clones ? &*clones : nullptr, run.allowedMappings, run.log);
    late_ = std::make_unique<const memory::LazyAreas>(clones                ? clones->areas
                                                      : run.lazy != nullptr ? run.lazy->areasOf(task)
                                                                            : memory::LazyAreas());
    fill(run, task, forChildren);
}

void TaskMemory::complete(const RestoreRun& run, const Task& task) {
    fill(run, task, false);
}

void TaskMemory::fill(const RestoreRun& run, const Task& task, bool forChildren) {
    using Content = memory::AddressSpace::Content;
    space_->fill(*run.content.pages.at(task.pid),
                 {*late_, freesWhatIsRead(run.options), run.control.watchReading(run.log),
                  run.options.decompressThreads, run.smallestHugePage},
                 forChildren ? Content::ForChildren : Content::All, run.log);
}

void TaskMemory::mapDevices(const RestoreRun& run, const Task& task, TaskFiles& files) {
    space_->mapDevices(task, files, run.log);
}

void TaskMemory::createAioRings(const RestoreRun& run, const Task& task) {
    space_->createAioRings(task, *run.content.pages.at(task.pid));
}

void TaskMemory::seal(TaskFiles& files) {
    space_->mapSockets(files);
    space_->seal();
}

}  // namespace criu::engine
