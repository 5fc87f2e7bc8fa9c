// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/f_owner_tid.hpp"

#include <fcntl.h>

#include "criu/base/error.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/files/fown.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/model/pid_map.hpp"
#include "criu/model/process_tree.hpp"
#include "images/fown.hpp"

namespace criu::engine {
namespace {

/// Returns the process of the owner thread, if the owner is a thread that isn't a leader. Returns 0 for other owners.
TreePid processOf(const model::ProcessTree& tree, const FownEntry& owner) {
    const TreePid wanted(static_cast<pid_t>(owner.pid));
    if (!wanted || owner.pid_type != F_OWNER_TID || tree.byPid.contains(wanted))
        return {};
    for (const auto& task : tree.tasks)
        for (const model::Thread& thread : task->threads)
            if (thread.tid == wanted)
                return task->pid;
    return {};
}

/// Returns the tid of a thread in criu's pid namespace.
HostPid findThread(TreePid process, TreePid thread, const PidMap& pids) {
    const kernel::ProcPid directory = kernel::ProcDir().open(pids.outside(process).value);
    for (const pid_t tid : kernel::readThreads(directory))
        if (pids.insideOf(directory, HostPid(tid)) == thread)
            return HostPid(tid);
    fail("thread {} of process {} is missing", thread, process);
}

/// Calls `look` for each open file description that a thread owns. Passes the file, its id, the owner, and the owner's
/// process.
template <typename Look>
void forEachOwned(const RestoredFiles& files, Look&& look) {
    for (std::size_t at = 0; at < files.count(); ++at)
        for (const FileId id : files.at(at).ids) {
            const files::RestoredFile& file = *files.at(at).file;
            const FownEntry* const owner = file.owner(id);
            if (const TreePid process = owner != nullptr ? processOf(files.content().tree, *owner) : TreePid())
                look(file, id, *owner, process);
        }
}

}  // namespace

bool isOwnedByTid(const RestoredFiles& files, FileId id) {
    const auto file = files.indexOf(id);
    const FownEntry* const owner = file ? files.at(*file).file->owner(id) : nullptr;
    return owner != nullptr && processOf(files.content().tree, *owner);
}

void requireReachableOwnerTids(const RestoredFiles& files) {
    forEachOwned(files, [&](const files::RestoredFile& file, FileId id, const FownEntry& owner, TreePid process) {
        if (files.users(id).empty())
            fail("{} is only in flight, and owned by thread {} of process {}, which can't be restored", file.describe(),
                 owner.pid, process);
    });
}

void setOwnerTids(const RestoredFiles& files, files::RestoredTree& tree, const PidMap& pids, const model::IdMap& ids) {
    forEachOwned(files, [&](const files::RestoredFile& file, FileId id, const FownEntry& owner, TreePid process) {
        const ErrorContext context([&] { return file.describe(); });
        FownEntry here = owner;
        here.pid = static_cast<std::uint32_t>(findThread(process, TreePid(static_cast<pid_t>(owner.pid)), pids).value);
        here.uid = ids.outerUid(owner.uid);
        here.euid = ids.outerUid(owner.euid);
        const UniqueFd fd = tree.fetch(id);
        files::restoreOwner(fd.get(), here);
    });
}

}  // namespace criu::engine
