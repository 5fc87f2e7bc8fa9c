// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/planned.hpp"

#include <algorithm>
#include <map>

#include "criu/base/stop_request.hpp"
#include "criu/cgroup/set_of.hpp"
#include "criu/engine/images/validate_images.hpp"
#include "criu/engine/restore/birth/planned_namespaces.hpp"
#include "criu/engine/restore/memory_provider.hpp"
#include "criu/model/memory_provider_name.hpp"
#include "criu/model/options.hpp"
#include "images/fdinfo.hpp"
#include "images/inventory.hpp"

namespace criu::engine {

namespace {

/// Lets the provider supply images. Images in a spool have arrived already.
ImageDir& suppliedBy(MemoryProvider* provider, IncomingImages& incoming) {
    if (provider != nullptr && !incoming.place)
        incoming.images.setSupply(provider);
    return incoming.images;
}

}  // namespace

PlannedRestore::PlannedRestore(Run& command)
    : run(command),
      checkStop([this] { run.stop.throwIfRequested(); }),
      incoming_(openIncoming(run)),
      provider(MemoryProvider::connect(options(), run.stop, log())),
      images(suppliedBy(provider.get(), incoming_)),
      pages(images, options().checksum.value_or(true)),
      content(readValidatedImages(images, pages, run)),
      amounts(options()),
      births(planBirths(content, options(), log(), run.refusals)),
      devices({run.devices, **content.inventory, tree(), options(), log(), images, pages, run.stop, store}),
      networkLock(lockMethod(content, options()), networkLockName(content), log()),
      files({options(), log(), images, content, births, segments, networkLock, devices, run.refusals}),
      joined(options()),
      cgroups(options(), log(), images, (*content.inventory)->root_cg_set) {
    amounts.addPrivateMemory(content);
    amounts.addDeletedFiles(images);
    if (freesWhatIsRead(options()))
        segments.freeWhatIsRead();
    namespaces = planNamespaces(*this);
    files.make();
    files.inheritedFds().noteUsedName(model::kMemoryProvider);
    files.planNames(nsContext.mountSpaceOf);
    segments.collect(tree(), images, pages, [this](FileId id) -> std::uint64_t {
        const FileEntry& entry = files.entry(id);
        return entry.memfd != nullptr ? entry.memfd->inode_id : 0;
    });
    amounts.addMemory(segments.contentBytes());
    requireGroups();
}

PlannedRestore::~PlannedRestore() = default;

std::uint32_t PlannedRestore::cgroupSetOf(TreePid pid) const {
    const auto found = tree().byPid.find(pid);
    return found != tree().byPid.end() && found->second->alive() ? cgroup::setOf(found->second->core()) : 0;
}

void PlannedRestore::requireGroups() {
    for (const auto& task : tree().tasks)
        for (const model::Thread& thread : task->threads)
            cgroups.require(cgroup::setOf(**thread.core));
    std::map<std::uint32_t, std::size_t> counts;
    for (const model::Birth& birth : births.all()) {
        // Helpers and zombies have no cgroup set: they stay in the cgroups of their creators, up to the first creator
        // that has one.
        const model::Birth* owner = &birth;
        while (cgroupSetOf(owner->pid) == 0 && owner->creator)
            owner = &births.of(owner->creator);
        const auto task = tree().byPid.find(birth.pid);
        const bool alive = task != tree().byPid.end() && task->second->alive();
        counts[cgroupSetOf(owner->pid)] += alive ? task->second->threads.size() : 1;
    }
    cgroups.requireRoomForTasks(counts);
}

void PlannedRestore::moveImages(const std::function<UniqueFd(UniqueFd)>& mover) {
    incoming_.move(mover);
    run.listeners.setImagesDir(incoming_.placeFd());
}

std::size_t PlannedRestore::countAlive() const {
    return static_cast<std::size_t>(
        std::count_if(tree().tasks.begin(), tree().tasks.end(), [](const auto& task) { return task->alive(); }));
}

}  // namespace criu::engine
