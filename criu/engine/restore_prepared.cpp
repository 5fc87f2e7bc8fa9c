// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore_prepared.hpp"

#include <algorithm>

#include "criu/engine/last_steps.hpp"
#include "criu/kernel/features.hpp"
#include "criu/task/registers.hpp"

namespace criu::engine {
namespace {

bool hasPosixTimers(const model::ProcessTree& tree) {
    return std::any_of(tree.tasks.begin(), tree.tasks.end(), [](const auto& task) {
        const TaskTimersEntry* const timers = task->core().tc->timers;
        return timers != nullptr && timers->n_posix != 0;
    });
}

task::Credentials credentialsAtBirth(const PlannedRestore& plan) {
    if (!plan.surroundings.ids.isOwnNamespace())
        return task::Credentials::ofSelf();
    const CoreEntry& root = plan.tree().root().core();
    return task::Credentials::ofFirst(plan.surroundings.ids, task::Credentials::ofImage(*root.thread_core->creds));
}

/// In a user namespace of their own processes have made themselves dumpable (task::becomeFirst()).
task::Dumpable dumpableFlag(const model::ProcessTree& tree, const task::Credentials& now, bool ownUsers) {
    const bool changes = std::any_of(tree.tasks.begin(), tree.tasks.end(), [&now](const auto& task) {
        return task->alive() && LastSteps::changesCredentials(*task, now);
    });
    task::Dumpable flag = task::Dumpable::ofSelf(changes);
    if (ownUsers)
        flag.now = task::Dumpable::kByItsUser;
    return flag;
}

/// What only trees with 32-bit tasks need. Throws Error if this kernel can't run them.
std::optional<memory::CompatVdso> vdsoForCompat(const model::ProcessTree& tree) {
    const bool any = std::any_of(tree.tasks.begin(), tree.tasks.end(),
                                 [](const auto& task) { return task->alive() && task::isCompat(task->core()); });
    if (!any)
        return std::nullopt;
    kernel::Features().require(kernel::Feature::CompatTasks);
    return memory::CompatVdso::ofKernel();
}

/// Chooses the range, and moves everything there that criu has open already.
ServiceFds takeService(PlannedRestore& planned, int limit) {
    std::size_t more = 0;
    for (const auto& kind : planned.namespaces)
        more += kind->descriptors();
    const ServiceFds service = planned.files.chooseServiceFds(limit, more);
    kernel::FdStore& store = planned.store;
    store.reserve(service.first, service.last);
    const auto inherited = [&store](kernel::FdKey key) {
        return [&store, key](UniqueFd fd) { return store.inherit(key, std::move(fd)); };
    };
    planned.images.move(inherited(kernel::FdKey::Images));
    planned.log().move(inherited(kernel::FdKey::Log));
    planned.joined.inherit(store);
    planned.files.takeInherited(store);
    planned.devices.share(store);
    planned.files.terminals().open(planned.options(), inherited(kernel::FdKey::Terminal));
    return service;
}

}  // namespace

PreparedRestore::PreparedRestore(PlannedRestore& plan)
    : planned(plan),
      limits(plan.tree(), plan.surroundings.ids.isOwnNamespace()),
      service(takeService(plan, limits.files())),
      control(static_cast<std::uint32_t>(plan.births.all().size())),
      systemV(plan.log()),
      run{plan.options(),
          plan.log(),
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
          credentialsAtBirth(plan),
          dumpableFlag(plan.tree(), credentialsAtBirth(plan), plan.surroundings.ids.isOwnNamespace()),
          task::Scheduling::of(HostPid()),
          ownLimits(),
          hasPosixTimers(plan.tree()) && kernel::Features().has(kernel::Feature::TimerRestoreIds),
          vdsoForCompat(plan.tree())} {
    control.inherit(plan.store);
    plan.run.listeners.setImagesDir(plan.images.fd());
    plan.run.listeners.require(Stage::PreRestore);
    makeShared();
}

void PreparedRestore::makeShared() {
    planned.log().info("Stage: deleted files and shared memory");
    kernel::FdStore& store = planned.store;
    const namespaces::Surroundings& surroundings = planned.surroundings;
    planned.files.remaps().noteLinks(planned.files);
    for (const auto& kind : planned.namespaces)
        kind->prepare(store, [this](std::string_view name) { return planned.files.inherited(name); });
    if (surroundings.help != nullptr) {
        planned.images.setHelp(*surroundings.help);
        planned.files.setHelp(*surroundings.help);
    }
    if (!surroundings.ownPaths)
        planned.files.remaps().create(planned.files, surroundings.ids, store);
    planned.segments.create(surroundings.ids, store, planned.checkStop);
    if (surroundings.systemV != 0)
        systemV.create(planned.images, planned.pages, surroundings.systemV, surroundings.ids, planned.checkStop);
    planned.cgroups.create(store);
    if (surroundings.ids.isOwnNamespace())
        planned.cgroups.openEntrances(store);
}

void PreparedRestore::commit() noexcept {
    for (const auto& kind : planned.namespaces)
        kind->commit();
    systemV.commit();
    planned.cgroups.commit();
    limits.putBack();
}

}  // namespace criu::engine
