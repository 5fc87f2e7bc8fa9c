// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore_planned.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/cgroup/set_of.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/engine/namespace_kinds.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/model/birth_facts.hpp"
#include "criu/namespaces/image_order.hpp"
#include "criu/task/cpu_info.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {
namespace {

using model::BirthPlan;

void requireLabels(const model::ProcessTree& tree) {
    const std::optional<std::string> own = task::securityLabel(kernel::ProcDir().self());
    for (const auto& task : tree.tasks)
        for (const model::Thread& thread : task->threads)
            if (const ThreadCoreEntry* const core = (*thread.core)->thread_core;
                task->alive() && core != nullptr && core->creds != nullptr) {
                const ErrorContext context([&] { return fmt::format("process {}", task->pid); });
                task::requireLabel(*core->creds, own);
            }
}

/// What this machine can't run isn't planned.
RestoreImages readRunnable(ImageDir& images, const memory::PageSources& pages, const Run& run) {
    const model::Options& options = run.options;
    RestoreImages content = readImages(images, pages, run.log);
    requireClientsImages(run.client, content, images);
    if (options.cpuCaps.has(model::CpuCap::Image))
        task::checkCpu(images, options.cpuCaps);
    requireLabels(content.tree);
    run.log.info("Stage: plan");
    return content;
}

model::OuterPlace outerPlace(const RestoreImages& content) {
    const auto& ids = content.tree.root().ids;
    const TaskKobjIdsEntry* const outside = (*content.inventory)->root_ids;
    if (ids && outside != nullptr && namespaces::ownNumberOf(outside, ids->get(), kernel::NamespaceKind::Pid) != 0)
        return model::OuterPlace::ownNamespace();
    return model::OuterPlace::sameNamespace(TreePid(::getsid(0)), TreePid(::getpgid(0)));
}

BirthPlan planBirths(const RestoreImages& content, const model::Options& options) {
    const model::OuterPlace outer = outerPlace(content);
    return BirthPlan::make(model::birthFacts(content.tree, outer, options.shellJob), outer.session);
}

/// How the dump has locked connections.
model::NetworkLock lockMethod(const InventoryEntry& inventory, const model::Options& options) {
    if (inventory.has_tcp_close != 0 && inventory.tcp_close != 0 && !options.tcpClose) {
        Error error(0, "the images were made with --tcp-close");
        error.addHint("restore with --tcp-close");
        throw error;
    }
    if (inventory.has_network_lock_method == 0)
        return model::NetworkLock::Iptables;  // before there was another way
    return sockets::networkLockMethod(inventory.network_lock_method);
}

/// What stands in the name of the table of rules.
std::string lockName(const RestoreImages& content) {
    const InventoryEntry& inventory = **content.inventory;
    return inventory.dump_criu_run_id != nullptr ? inventory.dump_criu_run_id : fmt::to_string(content.tree.root().pid);
}

std::map<std::uint32_t, FileId> networksOfFiles(const RestoreImages& content) {
    std::map<std::uint32_t, FileId> networks;
    for (const auto& [id, file] : content.files)
        if (const auto number = networkOf(*file))
            networks.emplace(*number, id);
    return networks;
}

}  // namespace

PlannedRestore::PlannedRestore(Run& command)
    : run(command),
      images(std::move(command.imagesDir), command.options.imagesDir),
      content(readRunnable(images, pages, command)),
      births(planBirths(content, command.options)),
      devices(command.devices, **content.inventory, content.tree, command.options, command.log, images, command.stop,
              store),
      networkLock(lockMethod(**content.inventory, command.options), lockName(content), command.log),
      files(command.options, command.log, images, content, births, segments, networkLock, devices),
      joined(command.options),
      cgroups(command.options, command.log, images, (*content.inventory)->root_cg_set),
      namespaces(planNamespaces()) {
    files.make();
    files.planNames(surroundings.mountSpaceOf);
    segments.collect(tree(), images, pages, [this](FileId id) -> std::uint64_t {
        const FileEntry& entry = files.entry(id);
        return entry.memfd != nullptr ? entry.memfd->inode_id : 0;
    });
    for (const auto& task : tree().tasks)
        for (const model::Thread& thread : task->threads)
            cgroups.require(cgroup::setOf(**thread.core));
}

namespaces::NamespaceRestores PlannedRestore::planNamespaces() {
    const auto networks = networksOfFiles(content);
    const namespaces::RestoreInputs inputs{
        options(), log(),  images,      pages, checkStop, tree(), (*content.inventory)->root_ids,
        networks,  joined, surroundings};
    const auto putByPlugin = [this](int id, const std::string& path) { devices.putMount(id, path); };
    // Owners are those of the images: whoever makes the files is in the user namespace already.
    const auto makeDeletedFiles = [this](files::HiddenMounts hidden, files::PathRemaps::MountLinker linker,
                                         kernel::FdStore& to) {
        files.remaps().setMounts(std::move(hidden), std::move(linker));
        files.remaps().create(files, model::IdMap(), to);
    };
    return makeNamespaceRestores({inputs, cgroups, networkLock, lockName(content), {putByPlugin, makeDeletedFiles}});
}

std::size_t PlannedRestore::countAlive() const {
    return static_cast<std::size_t>(
        std::count_if(tree().tasks.begin(), tree().tasks.end(), [](const auto& task) { return task->alive(); }));
}

}  // namespace criu::engine
