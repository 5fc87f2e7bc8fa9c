// SPDX-License-Identifier: GPL-2.0-only
#include <cstdint>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/engine/dump/files/file_kinds_dump.hpp"
#include "criu/files/epoll_target.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/image/record.hpp"
#include "images/eventpoll.hpp"
#include "images/fdinfo.hpp"
#include "images/io-uring.hpp"

namespace criu::engine {

void refuseWatchedRings(std::span<FileEntry* const> entries, const files::FileDump& dump) {
    std::set<std::uint32_t> polled;
    for (const FileEntry* const entry : entries)
        if (entry->io_uring != nullptr && entry->io_uring->thread != nullptr)
            polled.insert(entry->id);
    if (polled.empty())
        return;
    for (const FileEntry* const entry : entries) {
        if (entry->epfd == nullptr || !dump.users(FileId{entry->id}).empty())
            continue;
        for (const EventpollTfdEntry* const target : list(entry->epfd->tfd, entry->epfd->n_tfd)) {
            if (!polled.contains(target->id))
                continue;
            Error error(0,
                        fmt::format("fd {}: an io_uring with a kernel thread (IORING_SETUP_SQPOLL) is a target of an "
                                    "epoll file in the queue of a socket",
                                    files::numberOfTarget(*target)));
            error.addHint("let the program receive this file before the dump");
            throw error;
        }
    }
}

}  // namespace criu::engine
