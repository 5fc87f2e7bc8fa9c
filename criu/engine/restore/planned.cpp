// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/planned.hpp"

#include <algorithm>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/engine/images/validate_images.hpp"
#include "criu/engine/restore/birth/planned_namespaces.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/sockets/network_lock.hpp"
#include "images/fdinfo.hpp"
#include "images/inventory.hpp"

namespace criu::engine {

/// Members in the order of their construction.
struct PlannedRestore::Impl {
    explicit Impl(Run& run)
        : incoming(openIncoming(run)),
          pages(images, run.options.checksum.value_or(true)),
          content(readValidatedImages(images, pages, run)),
          births(planBirths(content, run.options, run.log)),
          devices(run.devices, **content.inventory, content.tree, run.options, run.log, images, pages, run.stop, store),
          networkLock(lockMethod(content, run.options), networkLockName(content), run.log),
          files(run.options, run.log, images, content, births, segments, networkLock, devices),
          joined(run.options),
          cgroups(run.options, run.log, images, (*content.inventory)->root_cg_set) {}

    IncomingImages incoming;
    ImageDir& images = incoming.images;
    memory::FilePageSources pages;
    RestoreImages content;
    model::BirthPlan births;
    memory::Segments segments;
    kernel::FdStore store;
    device::RestoreDevices devices;
    sockets::NetworkLock networkLock;
    RestoredFiles files;
    namespaces::JoinedNamespaces joined;
    namespaces::RestoreNsContext surroundings;
    cgroup::CgroupRestore cgroups;
    namespaces::NamespaceRestores namespaces;
};

PlannedRestore::PlannedRestore(Run& command)
    : run(command),
      checkStop([this] { run.stop.throwIfRequested(); }),
      impl_(std::make_unique<Impl>(command)),
      images(impl_->images),
      pages(impl_->pages),
      content(impl_->content),
      births(impl_->births),
      segments(impl_->segments),
      store(impl_->store),
      devices(impl_->devices),
      networkLock(impl_->networkLock),
      files(impl_->files),
      joined(impl_->joined),
      surroundings(impl_->surroundings),
      cgroups(impl_->cgroups),
      namespaces(impl_->namespaces) {
    if (freesWhatIsRead(run.options))
        segments.freeWhatIsRead();
    namespaces = planNamespaces(*this);
    files.make();
    files.planNames(surroundings.mountSpaceOf);
    segments.collect(tree(), images, pages, [this](FileId id) -> std::uint64_t {
        const FileEntry& entry = files.entry(id);
        return entry.memfd != nullptr ? entry.memfd->inode_id : 0;
    });
    requireGroups();
}

PlannedRestore::~PlannedRestore() = default;

void PlannedRestore::moveImages(const std::function<UniqueFd(UniqueFd)>& mover) {
    impl_->incoming.move(mover);
    run.listeners.setImagesDir(impl_->incoming.placeFd());
}

void PlannedRestore::dismissStreamer() noexcept {
    impl_->incoming.dismiss();
}

const model::ProcessTree& PlannedRestore::tree() const noexcept {
    return content.tree;
}

const model::Options& PlannedRestore::options() const noexcept {
    return run.options;
}

Log& PlannedRestore::log() const noexcept {
    return run.log;
}

std::size_t PlannedRestore::countAlive() const {
    return static_cast<std::size_t>(
        std::count_if(tree().tasks.begin(), tree().tasks.end(), [](const auto& task) { return task->alive(); }));
}

}  // namespace criu::engine
