// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/birth/restore_start.hpp"

#include <algorithm>

#include "criu/engine/restore/restore_images.hpp"
#include "criu/engine/restore/scoped_rlimits.hpp"
#include "criu/engine/restore/task/drop_privileges.hpp"
#include "criu/kernel/probe/features.hpp"
#include "criu/memory/mappings/own_mappings.hpp"
#include "criu/memory/vdso/compat_vdso.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/task/compat.hpp"
#include "criu/task/registers.hpp"
#include "criu/task/security_label.hpp"
#include "images/core.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

bool hasPosixTimers(const model::ProcessTree& tree) {
    return std::any_of(tree.tasks.begin(), tree.tasks.end(), [](const auto& task) {
        const TaskTimersEntry* const timers = task->core().tc->timers;
        return timers != nullptr && timers->n_posix != 0;
    });
}

task::Credentials credentialsAtBirth(const model::ProcessTree& tree, const model::IdMap& ids) {
    if (!ids.isOwnNamespace())
        return task::Credentials::ofSelf();
    return task::Credentials::ofUsernsRoot(ids, task::Credentials::ofImage(*tree.root().core().thread_core->creds));
}

/// Returns the dumpable flag that restored processes have when their programs start. In a private user namespace,
/// task::becomeUsernsRoot() has made them dumpable.
task::Dumpable dumpableFlag(const model::ProcessTree& tree, const task::Credentials& now,
                            const namespaces::RestoreNsContext& nsContext) {
    const bool changes = std::any_of(tree.tasks.begin(), tree.tasks.end(), [&](const auto& task) {
        return task->alive() && (nsContext.usernsOf(*task) != nullptr || PrivilegeDrop::changesCredentials(*task, now));
    });
    task::Dumpable flag = task::Dumpable::ofSelf(changes);
    if (nsContext.ids.isOwnNamespace())
        flag.now = task::Dumpable::kDumpableByUser;
    return flag;
}

/// Returns the vDSO for 32-bit tasks; null if the tree has none. Throws Error if this kernel can't run them.
std::unique_ptr<const memory::CompatVdso> vdsoForCompat(const model::ProcessTree& tree) {
    const bool any = std::any_of(tree.tasks.begin(), tree.tasks.end(),
                                 [](const auto& task) { return task->alive() && task::isCompat(task->core()); });
    if (!any)
        return nullptr;
    kernel::Features().require(kernel::Feature::CompatTasks);
    return std::make_unique<const memory::CompatVdso>(memory::CompatVdso::ofKernel());
}

}  // namespace

RestoreStart::RestoreStart(const RestoreImages& content, const namespaces::RestoreNsContext& nsContext,
                           const model::Options& options, const kernel::ResourceLimits& before)
    : credentials(credentialsAtBirth(content.tree, nsContext.ids)),
      dumpable(dumpableFlag(content.tree, credentials, nsContext)),
      labels(std::make_unique<const task::LabelRestore>(content.lsmType(), options.lsmProfile,
                                                        nsContext.ids.isOwnNamespace())),
      scheduling(task::Scheduling::of(HostPid())),
      limits(currentRlimits()),
      limitsBefore(before),
      timerIdsSettable(hasPosixTimers(content.tree) && kernel::Features().has(kernel::Feature::TimerRestoreIds)),
      mappings(std::make_unique<const memory::RangeSet>(memory::ownMappings())),
      vdso(std::make_unique<const memory::VdsoLayout>(memory::VdsoLayout::ofSelf())),
      compatVdso(vdsoForCompat(content.tree)) {}

RestoreStart::~RestoreStart() = default;

}  // namespace criu::engine
