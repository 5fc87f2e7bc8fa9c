// SPDX-License-Identifier: GPL-2.0-only
// A thread may own an open file description (F_OWNER_TID). Processes complete their files before they create threads.
// So the coordinator sets owners that aren't leaders, when all threads exist.
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

/// Returns the process of an owner that is such a thread; 0 for other owners.
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

/// Calls `look` with each description that has an owner thread id, and with its file.
template <typename Look>
void forEachOwned(const RestoredFiles& files, Look&& look) {
    for (std::size_t at = 0; at < files.count(); ++at)
        for (const FileId id : files.at(at).ids)
            if (files.isOwnedByTid(id))
                look(*files.at(at).file, id, *files.at(at).file->owner(id));
}

}  // namespace

bool RestoredFiles::isOwnedByTid(FileId id) const {
    const auto file = indexOf(id);
    const FownEntry* const owner = file ? collected_[*file].file->owner(id) : nullptr;
    return owner != nullptr && processOf(content_.tree, *owner);
}

void RestoredFiles::requireReachableOwnerTids() const {
    forEachOwned(*this, [&](const files::RestoredFile& file, FileId id, const FownEntry& owner) {
        if (users(id).empty())
            fail("{} is only in flight, and owned by thread {} of process {}, which can't be restored", file.describe(),
                 owner.pid, processOf(content_.tree, owner));
    });
}

void RestoredFiles::setOwnerTids(const model::IdMap& ids) {
    forEachOwned(*this, [&](const files::RestoredFile& file, FileId id, const FownEntry& owner) {
        const ErrorContext context([&] { return file.describe(); });
        FownEntry here = owner;
        const TreePid thread(static_cast<pid_t>(owner.pid));
        here.pid = static_cast<std::uint32_t>(findThread(processOf(content_.tree, owner), thread, *pids_).value);
        here.uid = ids.outerUid(owner.uid);
        here.euid = ids.outerUid(owner.euid);
        const UniqueFd fd = fetch(id);
        files::restoreOwner(fd.get(), here);
    });
}

}  // namespace criu::engine
