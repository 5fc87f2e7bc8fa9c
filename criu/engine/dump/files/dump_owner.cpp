// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/engine/dump/files/file_kinds_dump.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/fown.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/arena.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/fown.hpp"

namespace criu::engine {

FownEntry* dumpOwner(const files::OpenFd& file, files::FileDump& dump) {
    FownEntry* const owner = files::readOwner(file.copy.get(), dump.arena());
    files::translateOwner(*owner, dump.ids(), dump.pids());
    if (owner->pid != 0 && !dump.pids().sees(file.pid, TreePid(static_cast<pid_t>(owner->pid))))
        fail("the signal owner of {} isn't in the pid namespace of the process, which can't be dumped yet",
             file.describe());
    return owner;
}

}  // namespace criu::engine
