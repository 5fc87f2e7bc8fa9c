// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_complete.hpp"

#include <unistd.h>

#include <string>
#include <vector>

#include "criu/namespaces/networks_dump.hpp"
#include "criu/task/cpu_info.hpp"
#include "images/inventory.hpp"
#include "images/pstree.hpp"

namespace criu::engine {
namespace {

void writeTree(FrozenTree& tree, const ImageDir& images) {
    ImageWriter image = images.create(ImageKind::Pstree);
    for (const auto& task : tree.tasks()) {
        PstreeEntry entry = PSTREE_ENTRY__INIT;
        entry.pid = static_cast<std::uint32_t>(task->treePid().value);
        entry.ppid = task->pid() == tree.rootPid() ? 0 : static_cast<std::uint32_t>(task->stat.ppid);
        entry.pgid = static_cast<std::uint32_t>(task->stat.pgrp);
        entry.sid = static_cast<std::uint32_t>(task->stat.session);
        std::vector<std::uint32_t> threads;
        if (task->alive())
            for (const compel::FrozenThread& thread : task->process->threads())
                threads.push_back(static_cast<std::uint32_t>(thread.tracee.tid()));
        else
            threads.push_back(entry.pid);
        entry.n_threads = threads.size();
        entry.threads = threads.data();
        image.write(entry);
    }
    image.finish();
}

void writeCpu(const model::Options& options, const ImageDir& images) {
    images.unlink(ImageKind::Cpuinfo);
    if (options.cpuCaps.has(model::CpuCap::Image))
        task::dumpCpu(images);
}

/// It says that all other images are there.
void writeInventory(FrozenPhase& frozen, ExaminedPhase& examined, const CapturedPhase& captured) {
    InventoryEntry entry = INVENTORY_ENTRY__INIT;
    TaskKobjIdsEntry own = TASK_KOBJ_IDS_ENTRY__INIT;
    own.vm_id = own.files_id = own.fs_id = own.sighand_id = 1;
    examined.namespaces().storeNumbersOfCriu(own);
    PluginsEntry plugins = PLUGINS_ENTRY__INIT;
    std::vector<char*> names;
    std::vector<std::string> used = frozen.devices().used();
    for (std::string& name : used)
        names.push_back(name.data());
    plugins.n_plugins = names.size();
    plugins.plugins = names.data();
    std::string runId = examined.namespaces().runId();
    entry.img_version = static_cast<std::uint32_t>(ImageVersion::V1_1);
    entry.has_fdinfo_per_id = entry.fdinfo_per_id = 1;
    entry.root_ids = &own;
    entry.has_ns_per_id = entry.ns_per_id = 1;
    entry.has_root_cg_set = 1;
    entry.root_cg_set = cgroup::CgroupDump::kOwnSet;
    entry.has_lsmtype = 1;
    entry.lsmtype = LSMTYPE__NO_LSM;
    entry.has_network_lock_method = 1;
    entry.network_lock_method = sockets::networkLockNumber(examined.surroundings().networks->rootLock().method());
    entry.has_tcp_close = entry.tcp_close = frozen.options().tcpClose;
    entry.plugins_entry = &plugins;
    entry.dump_criu_run_id = runId.data();
    entry.has_allow_uprobes = entry.allow_uprobes = captured.sawUprobes();
    ImageWriter image = frozen.images().create(ImageKind::Inventory);
    image.write(entry);
    image.finish();
}

}  // namespace

CompletePhase::CompletePhase(CapturedPhase& captured)
    : captured_(captured), examined_(captured.examined()), frozen_(examined_.frozen()) {
    writeTree(frozen_.tree(), frozen_.images());
    writeCpu(frozen_.options(), frozen_.images());
    frozen_.stop().throwIfRequested();
    writeInventory(frozen_, examined_, captured);
}

CompletePhase::~CompletePhase() {
    if (stays_)
        return;
    try {
        frozen_.images().unlink(ImageKind::Inventory);
    } catch (const std::exception& error) {
        frozen_.log().error("{}", error.what());
    }
}

int CompletePhase::conclude() {
    const int status = frozen_.guardian().notify(Stage::PostDump);
    const model::FinalState state = status != 0 ? model::FinalState::Running : frozen_.options().finalState;
    const bool ends = state == model::FinalState::Default;
    frozen_.devices().release(!ends);
    if (ends)
        end();
    else
        resume(state);
    stays_ = true;
    reportStatistics(frozen_.statistics(), frozen_.options(), frozen_.log());
    frozen_.log().info("Dumping finished successfully");
    if (ends && frozen_.guardian().isInside())
        endNamespace();
    return status;
}

void CompletePhase::resume(model::FinalState state) {
    captured_.release(state);
    examined_.release(state);
    frozen_.resume(state);
}

void CompletePhase::end() {
    stays_ = true;  // nothing else is left of the tree
    frozen_.end();
    captured_.release(model::FinalState::Default);
    examined_.release(model::FinalState::Default);
}

void CompletePhase::endNamespace() {
    try {
        frozen_.guardian().endNamespace();
    } catch (const std::exception& error) {
        // The root, whose children are gone, must not go on: it ends with this process.
        frozen_.log().failure(error);
        ::_exit(1);
    }
}

}  // namespace criu::engine
