// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/client_rules.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/names.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/files/ghost_file.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/ptrace_access.hpp"
#include "criu/model/client.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/task/credentials.hpp"
#include "images/core.hpp"
#include "images/ghost-file.hpp"
#include "images/inventory.hpp"
#include "images/remap-file-path.hpp"

namespace criu::engine {
namespace {

using model::Client;

[[noreturn]] void refuse(std::string_view what) {
    failWith(EPERM, "{}, which the client has no right to", what);
}

bool isOneOf(const Client& client, gid_t gid) {
    return gid == client.gid || std::find(client.groups.begin(), client.groups.end(), gid) != client.groups.end();
}

/// Throws Error if the capability set `has` isn't a subset of `may`. The error names the first capability that `may`
/// lacks. `set`: name of the set.
void requireWithin(std::uint64_t has, std::uint64_t may, std::string_view set) {
    const std::uint64_t beyond = has & ~may;
    if (beyond != 0)
        refuse(fmt::format("it has {} in its {} set",
                           kernel::capabilityName(static_cast<unsigned>(std::countr_zero(beyond))), set));
}

task::Credentials credentialsOf(const kernel::TaskStatus& status) {
    task::Credentials credentials;
    credentials.groups = status.groups;
    credentials.uid = status.uid;
    credentials.gid = status.gid;
    credentials.inheritable = status.capInheritable;
    credentials.permitted = status.capPermitted;
    credentials.effective = status.capEffective;
    credentials.bounding = status.capBounding;
    credentials.ambient = status.capAmbient;
    return credentials;
}

bool has(const Client& client, unsigned capability) {
    return (client.capabilities >> capability & 1) != 0;
}

kernel::FileRights rightsOf(const Client& client) {
    return {client.uid,
            client.gid,
            client.groups,
            {client.uid},
            has(client, CAP_DAC_OVERRIDE),
            has(client, CAP_DAC_READ_SEARCH)};
}

void limit(ImageDir& directory, const Client& client) {
    if (!client.isOwner)
        directory.limitTo(rightsOf(client));
}

/// Checks that Yama would let the client trace the process `root`, because the kernel checks only criu. Ignores a
/// permission that the process gave the client by PR_SET_PTRACER, because the kernel doesn't show it.
void requireYama(const Client& client, HostPid root) {
    const kernel::YamaScope scope = kernel::readYamaScope();
    const bool byCapability = has(client, CAP_SYS_PTRACE);
    if (scope == kernel::YamaScope::Classic || (byCapability && scope != kernel::YamaScope::Nobody))
        return;
    if (scope == kernel::YamaScope::Descendants && client.process &&
        kernel::descendsFrom(kernel::ProcDir(), root.value, client.process->pid()) &&
        !client.process->waitExit(std::chrono::milliseconds(0)))
        return;
    failWith(EPERM, "the client may not trace process {} where kernel.yama.ptrace_scope is {}", root,
             static_cast<int>(scope));
}

/// Refuses a process in a private namespace: criu would dump tmpfs files and message queues of the namespace, although
/// the client may have no access to them.
void requireNoOwnNamespaces(const kernel::NamespaceIds& process, const kernel::NamespaceIds& criu) {
    for (std::size_t number = 0; number < kernel::kNamespaceKinds; ++number)
        if (process.kinds[number] != criu.kinds[number])
            refuse(fmt::format("it is in a {} namespace of its own",
                               kernel::namespaceName(static_cast<kernel::NamespaceKind>(number))));
    if (process.pidForChildren != criu.pidForChildren || process.timeForChildren != criu.timeForChildren)
        refuse("it has its children in a namespace of their own");
}

void requireMayLookInto(const kernel::ProcPid& process, pid_t thread) {
    if (!kernel::mayLookInto(process, thread))
        failWith(EPERM,
                 "the client may not trace it (ptrace(2)): it isn't dumpable, or has rights that the client hasn't");
}

void requireClientGhosts(const Client& client, const ImageDir& images) {
    auto remaps = images.openRead(ImageKind::RemapFpath);
    if (!remaps)
        return;
    for (const auto& remap : remaps->all<RemapFilePathEntry>()) {
        const auto id = files::ghostOf(*remap);
        if (!id)
            continue;
        auto image = images.openRead(ImageKind::GhostFile, *id);
        const auto ghost = image ? image->next<GhostFileEntry>() : std::nullopt;
        if (!ghost)
            continue;  // the restore later reports the missing image of the ghost file
        const ErrorContext context([&] { return imageName(ImageKind::GhostFile, *id); });
        const GhostFileEntry& file = **ghost;
        if (S_ISCHR(file.mode) || S_ISBLK(file.mode))
            refuse("a deleted device is to be made");
        if (file.uid != client.uid || !isOneOf(client, file.gid))
            refuse(fmt::format("a deleted file belongs to {}:{}", file.uid, file.gid));
    }
}

}  // namespace

ImageDir takeImages(Run& run) {
    ImageDir images(std::move(run.imagesDir), run.options.imagesDir);
    limit(images, run.client);
    if (run.options.untrusted)
        images.distrust();
    images.setDirectIo(run.options.imageIo == model::ImageIo::Direct);
    return images;
}

ImageDir openWorkDir(const Client& client) {
    ImageDir directory = ImageDir::open(".");
    limit(directory, client);
    return directory;
}

void openLog(const Client& client, const std::string& name, Log& log) {
    if (client.isOwner || name.empty() || name == "-") {
        log.open(name);
        return;
    }
    const ErrorContext context([&] { return fmt::format("log file {}", name); });
    const ImageDir directory = openWorkDir(client);
    const auto rights = directory.takeRights();
    log.openAs(createReplacing(directory.fd(), name, O_WRONLY | O_APPEND, 0600));
}

void requireClientCredentials(const Client& client, const task::Credentials& credentials) {
    if (client.isOwner)
        return;
    for (const std::uint32_t uid :
         {credentials.uid.real, credentials.uid.effective, credentials.uid.saved, credentials.uid.filesystem})
        if (uid != client.uid)
            refuse(fmt::format("it runs as user {}", uid));
    for (const std::uint32_t gid :
         {credentials.gid.real, credentials.gid.effective, credentials.gid.saved, credentials.gid.filesystem})
        if (!isOneOf(client, gid))
            refuse(fmt::format("it runs in group {}", gid));
    for (const std::uint32_t gid : credentials.groups)
        if (!isOneOf(client, gid))
            refuse(fmt::format("it is a member of group {}", gid));
    requireWithin(credentials.permitted, client.capabilities, "permitted");
    requireWithin(credentials.effective, client.capabilities, "effective");
    requireWithin(credentials.inheritable, client.capabilities, "inheritable");
    requireWithin(credentials.ambient, client.capabilities, "ambient");
    requireWithin(credentials.bounding, client.boundingSet, "bounding");
}

void requireClientsProcess(const Client& client, HostPid pid) {
    if (client.isOwner)
        return;
    const ErrorContext context([&] { return fmt::format("process {}", pid); });
    try {
        const kernel::ProcDir proc;
        kernel::ProcBuffer buffer;
        const kernel::ProcPid process = proc.open(pid.value);
        const kernel::TaskStatus status = kernel::readStatus(process, buffer);
        requireClientCredentials(client, credentialsOf(status));
        if (status.state == kernel::TaskState::Zombie)
            return;
        requireNoOwnNamespaces(kernel::readNamespaceIds(process), kernel::readNamespaceIds(proc.self()));
        const kernel::FileRightsScope rights(rightsOf(client), client.capabilities);
        requireMayLookInto(process, pid.value);
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;  // a process that has ended needs no check
    }
}

void requireClientsProcesses(const Client& client, std::span<const HostPid> processes) {
    if (client.isOwner)
        return;
    requireYama(client, processes.front());
    for (const HostPid pid : processes)
        requireClientsProcess(client, pid);
}

void requireClientTree(const Client& client, FrozenTree& tree) {
    if (client.isOwner)
        return;
    requireYama(client, tree.rootPid());
    const kernel::NamespaceIds own = kernel::readNamespaceIds(kernel::ProcDir().self());
    kernel::ProcBuffer buffer;
    for (const auto& task : tree.tasks()) {
        const ErrorContext context([&] { return task->describe(); });
        if (!task->alive()) {
            requireClientCredentials(client, credentialsOf(task->status));
            continue;
        }
        const kernel::NamespaceIds spaces = task->namespaces();
        for (const compel::FrozenThread& thread : task->process->threads()) {
            const pid_t tid = thread.tracee.tid();
            requireClientCredentials(client, credentialsOf(kernel::readThreadStatus(task->dir, tid, buffer)));
            requireNoOwnNamespaces(kernel::readThreadNamespaceIds(task->dir, tid, spaces), own);
        }
        const kernel::FileRightsScope rights(rightsOf(client), client.capabilities);
        for (const compel::FrozenThread& thread : task->process->threads())
            requireMayLookInto(task->dir, thread.tracee.tid());
    }
}

void requireClientNamespaces(const Client& client, const TaskKobjIdsEntry& ids, const TaskKobjIdsEntry& outside) {
    if (client.isOwner)
        return;
    for (std::size_t number = 0; number < kernel::kNamespaceKinds; ++number) {
        const auto kind = static_cast<kernel::NamespaceKind>(number);
        const auto own = namespaces::numberOf(ids, kind);
        if (own && *own != 0 && own != namespaces::numberOf(outside, kind))
            refuse(fmt::format("it is in a {} namespace of its own", kernel::namespaceName(kind)));
    }
    if (ids.has_time_for_children_ns_id != 0)
        refuse("it has its children in a time namespace of their own");
}

void requireClientImages(const Client& client, const RestoreImages& content, const ImageDir& images) {
    if (client.isOwner)
        return;
    TaskKobjIdsEntry outside = TASK_KOBJ_IDS_ENTRY__INIT;
    if (content.inventory && (*content.inventory)->root_ids != nullptr)
        outside = *(*content.inventory)->root_ids;
    for (const auto& task : content.tree.tasks) {
        const ErrorContext context([&] { return fmt::format("process {} of the images", task->pid); });
        if (!task->alive())
            continue;
        if (task->ids)
            requireClientNamespaces(client, **task->ids, outside);
        for (const model::Thread& thread : task->threads) {
            const ThreadCoreEntry* const core = (*thread.core)->thread_core;
            if (core == nullptr || core->creds == nullptr)
                refuse("a thread has no credentials, and would have criu's");
            requireClientCredentials(client, task::Credentials::ofImage(*core->creds));
        }
    }
    requireClientGhosts(client, images);
}

}  // namespace criu::engine
