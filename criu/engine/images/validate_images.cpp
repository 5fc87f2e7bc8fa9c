// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/validate_images.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/find_late_threads.hpp"
#include "criu/engine/images/image_limits.hpp"
#include "criu/engine/images/unpacked_images.hpp"
#include "criu/engine/images/untrusted_images.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/checksum_list.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/birth_facts.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/options.hpp"
#include "criu/model/thread_plan.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/task/cpu_info.hpp"
#include "criu/task/security_label.hpp"
#include "images/core.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

void requireLabels(const RestoreImages& content, const Run& run) {
    const task::LabelRestore labels(content.lsmType(), run.options.lsmProfile, false);
    const bool maySet = run.client.isOwner && (!run.options.untrusted || run.options.lsmProfile);
    for (const auto& task : content.tree.tasks)
        for (const model::Thread& thread : task->threads)
            if (const ThreadCoreEntry* const core = (*thread.core)->thread_core;
                task->alive() && core != nullptr && core->creds != nullptr) {
                const ErrorContext context([&] { return fmt::format("process {}", task->pid); });
                labels.require(*core->creds, maySet, task->threads.size() == 1);
            }
}

/// Warns of files whose name no kind of image has: a restore doesn't read them, and their state is lost. Plugins may
/// have images of any name.
void warnOfUnknownFiles(const ImageDir& images, const Run& run) {
    constexpr std::string_view kOfDevices[] = {"amdgpu-", "cuda", "gpu-cs-"};
    if (std::any_of(run.devices.begin(), run.devices.end(), [](const auto& device) { return device->isPlugin(); }))
        return;
    for (const std::string& name : namesIn(images))
        if (name.ends_with(".img") && !imageKindOf(name) &&
            std::none_of(std::begin(kOfDevices), std::end(kOfDevices),
                         [&](std::string_view prefix) { return name.starts_with(prefix); }))
            run.log.warn("{}/{} is no image that this criu knows: its state isn't restored", images.name(), name);
}

/// Clears the root's parent-death signal if the root's parent is criu and criu ends before the root. At criu's end, the
/// kernel would send this signal and kill the root (forget_original_parent(), kernel/exit.c).
void clearRootDeathSignal(const model::ProcessTree& tree, const Run& run) {
    const model::Options& options = run.options;
    const bool criuEnds = (options.detached || options.finalState == model::FinalState::Stopped) &&
                          options.execCommand.empty() && !options.restoreSibling;
    // with a namespace init, the root's parent isn't criu but this init, which doesn't end before the root
    const bool hasInit = options.newPidNamespace && tree.root().pid != TreePid(1);
    if (!criuEnds || hasInit || !tree.root().alive())
        return;
    for (const model::Thread& thread : tree.root().threads) {
        ThreadCoreEntry* const core = (*thread.core)->thread_core;
        if (core == nullptr || core->pdeath_sig == 0)
            continue;
        run.log.warn(
            "The first process, {}, was to get signal {} when its parent ends: that is criu now, which ends without "
            "waiting for it, so this isn't restored",
            tree.root().pid, core->pdeath_sig);
        core->pdeath_sig = 0;
        core->has_pdeath_sig = 0;
    }
}

model::ShellJobSession shellJobSession(const RestoreImages& content, const model::Options& options) {
    if (options.newPidNamespace)
        return model::ShellJobSession::ownNamespace();
    const auto& ids = content.tree.root().ids;
    const TaskKobjIdsEntry* const outside = (*content.inventory)->root_ids;
    if (ids && outside != nullptr && namespaces::ownNumberOf(outside, ids->get(), kernel::NamespaceKind::Pid) != 0)
        return model::ShellJobSession::ownNamespace();
    return model::ShellJobSession::sameNamespace(TreePid(::getsid(0)), TreePid(::getpgid(0)));
}

}  // namespace

/// Throws Error for images of processes with uprobes, unless the user has confirmed by --allow-uprobes that the probes
/// will be set again.
static void requireUprobes(const RestoreImages& content, const ImageDir& images, const model::Options& options) {
    const InventoryEntry& inventory = **content.inventory;
    if (inventory.has_allow_uprobes == 0 || inventory.allow_uprobes == 0 || options.allowUprobes)
        return;
    Error error(0, fmt::format("the images in {} are of processes with the kernel's user-space probes, without which "
                               "SIGTRAP may kill them",
                               images.name()));
    error.addHint("set the same probes again, and restore with --allow-uprobes");
    throw error;
}

RestoreImages readValidatedImages(ImageDir& images, const memory::PageSources& pages, const Run& run) {
    const model::Options& options = run.options;
    if (options.checksum.value_or(true)) {
        images.openParents();
        requireUndamaged(images, [&run] { run.stop.throwIfRequested(); });
    }
    RestoreImages content = readImages(images, pages, run.log, [&] {
        if (options.untrusted)
            unpackConfined(images, run);
    });
    warnOfUnknownFiles(images, run);
    requireClientImages(run.client, content, images);
    requireCountsAllowed(content, options);
    if (options.untrusted)
        UntrustedRules(options, (*content.inventory)->root_ids).requireImages(content, images);
    requireUprobes(content, images, options);
    for (const auto& task : content.tree.tasks)
        if (task->alive())
            model::requireObjects(*task);
    if (options.cpuCaps.has(model::CpuCap::Image))
        task::checkCpu(images, options.cpuCaps);
    requireLabels(content, run);
    findLateThreads(content, images);
    clearRootDeathSignal(content.tree, run);
    run.log.stage("plan");
    return content;
}

model::BirthPlan planBirths(const RestoreImages& content, const model::Options& options, Log& log, Refusals& refusals) {
    if (!options.shellJob)
        refusals.attempt([&] { model::requireOwnSession(content.tree); });
    const model::ShellJobSession outer = shellJobSession(content, options);
    auto plan = model::BirthPlan::make(model::birthFacts(content.tree, outer), outer.session);
    content.tree.nested().require(plan);
    for (const auto& task : content.tree.tasks)
        if (const TreePid thread = plan.of(task->pid).parentThread; thread != task->parentThread)
            log.warn(
                "Process {} was a child of thread {} of process {}, which isn't kept: it becomes one of thread {}, "
                "when "
                "that ends gets its parent-death signal (PR_SET_PDEATHSIG), and is found by it with __WNOTHREAD",
                task->pid, task->parentThread ? task->parentThread : task->ppid, task->ppid,
                thread ? thread : task->ppid);
    return plan;
}

model::NetworkLock lockMethod(const RestoreImages& content, const model::Options& options) {
    const InventoryEntry& inventory = **content.inventory;
    if (inventory.has_tcp_close != 0 && inventory.tcp_close != 0 && !options.tcpClose) {
        Error error(0, "the images were made with --tcp-close");
        error.addHint("restore with --tcp-close");
        throw error;
    }
    if (inventory.has_network_lock_method == 0)
        return model::NetworkLock::Iptables;  // images from a time when CRIU had only this method
    return sockets::networkLockMethod(inventory.network_lock_method);
}

}  // namespace criu::engine
