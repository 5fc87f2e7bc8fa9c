// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/prepared.hpp"

#include <algorithm>

#include "criu/base/log.hpp"
#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/restore/birth/restore_start.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/files/service_range.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/memory/shmem/sysv_shm.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::engine {

PreparedRestore::PreparedRestore(PlannedRestore& plan)
    : planned(plan),
      lazy(plan.startLazyRestore()),
      limits(plan.tree(), plan.surroundings.ids.isOwnNamespace()),
      service(reserveServiceFds(plan, lazy.get(), limits)),
      control(static_cast<std::uint32_t>(plan.births.all().size())),
      systemV(std::make_unique<memory::SysvShmRestore>(plan.log())),
      start(std::make_unique<RestoreStart>(plan.content, plan.surroundings, plan.options(), limits.before())),
      run{plan.options(),
          plan.log(),
          plan.run.stop,
          plan.images,
          plan.content,
          plan.births,
          plan.files,
          plan.segments,
          plan.cgroups,
          plan.namespaces,
          plan.surroundings,
          control,
          service,
          *start,
          *start->mappings,
          lazy.get(),
          kernel::allowedMappings()} {
    control.inherit(plan.store);
    plan.run.listeners.require(Stage::PreRestore);
    makeShared();
}

void PreparedRestore::makeShared() {
    planned.log().stage("deleted files and shared memory");
    kernel::FdStore& store = planned.store;
    const namespaces::RestoreNsContext& surroundings = planned.surroundings;
    planned.files.noteLinks();
    planned.requireFiles();
    for (const auto& kind : planned.namespaces)
        kind->prepare(store, [this](std::string_view name) {
            planned.files.noteUsedName(name);
            return planned.files.inherited(name);
        });
    planned.files.warnOfUnknownNames();
    if (surroundings.usernsd != nullptr) {
        planned.images.setUsernsd(*surroundings.usernsd);
        planned.files.setUsernsd(*surroundings.usernsd);
    }
    if (!surroundings.ownPaths)
        planned.files.createDeleted(surroundings.ids, store);
    planned.segments.create(surroundings.ids, store, planned.checkStop);
    if (surroundings.systemV != 0)
        systemV->create(planned.images, planned.pages, surroundings.systemV, surroundings.ids, planned.checkStop);
    planned.cgroups.create(store);
    if (surroundings.ids.isOwnNamespace())
        planned.cgroups.openCgroupProcs(store);
    planned.visitGroups();
}

PreparedRestore::~PreparedRestore() = default;

void PreparedRestore::commit() noexcept {
    for (const auto& kind : planned.namespaces)
        kind->commit();
    systemV->commit();
    planned.cgroups.commit();
    limits.putBack();
}

}  // namespace criu::engine
