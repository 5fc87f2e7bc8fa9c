// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/watched_rings.hpp"

#include "criu/base/error.hpp"
#include "criu/engine/restore/files/late_files.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/record.hpp"
#include "criu/model/pid_map.hpp"
#include "images/eventpoll.hpp"
#include "images/fdinfo.hpp"

namespace criu::engine {
namespace {

/// Returns the file that a process has under this number; FileId() if it has none.
FileId fileAt(const model::ProcessTree& tree, const FileHolder& holder, std::uint32_t number) {
    for (const auto& task : tree.tasks)
        if (task->pid == holder.pid)
            for (const model::FdSlot& slot : task->files->slots)
                if (slot.fd == static_cast<int>(number))
                    return slot.file;
    return FileId();
}

}  // namespace

std::vector<WatchedRing> watchedRings(const RestoreRun& run, const PidMap& pids) {
    std::vector<WatchedRing> all;
    const auto isRing = [&run](FileId file) {
        const auto at = run.files.indexOf(file);
        return at && run.files.at(*at).file->asPolledRing() != nullptr;
    };
    for (const FileEntry* const file : run.files.entries(FD_TYPES__EVENTPOLL)) {
        const auto holder = run.files.holderOf(FileId{file->id});
        for (const EventpollTfdEntry* const target : list(file->epfd->tfd, file->epfd->n_tfd)) {
            const FileId ring =
                target->id != 0 || !holder ? FileId{target->id} : fileAt(run.content.tree, *holder, target->tfd);
            if (!isRing(ring))
                continue;
            if (!holder) {
                Error error(0, fmt::format("io_uring {} is a target of an epoll file in the queue of a socket", ring));
                error.addHint("let the program receive this file before the dump");
                throw error;
            }
            all.push_back({ring, target, pids.outside(holder->pid).value, holder->fd});
        }
    }
    return all;
}

}  // namespace criu::engine
