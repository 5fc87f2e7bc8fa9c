// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/task_directories.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "criu/base/error.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/files/service_fds.hpp"
#include "criu/engine/restore/files/task_files.hpp"
#include "criu/files/regular.hpp"
#include "criu/kernel/placeholder_process.hpp"
#include "criu/model/process_tree.hpp"
#include "images/fdinfo.hpp"
#include "images/fs.hpp"

namespace criu::engine {

void enterDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files) {
    const FsEntry& fs = **task.fs;
    const UniqueFd root = service.moveIn(files.openPath(FileId{fs.root_id}, O_PATH | O_DIRECTORY));
    const FileEntry& cwdEntry = plan.entry(FileId{fs.cwd_id});
    if (cwdEntry.reg == nullptr)
        fail("the working directory, file {}, isn't a path", cwdEntry.id);
    const auto owner = files::createPlaceholderOwner(*cwdEntry.reg, plan.remaps());
    const UniqueFd cwd = service.moveIn(files.openPath(FileId{fs.cwd_id}, O_PATH | O_DIRECTORY));
    const FileEntry& rootEntry = plan.entry(FileId{fs.root_id});
    if (std::string_view(rootEntry.reg->name) != "/") {
        sys(::fchdir(root.get()), "enter the root directory {}", rootEntry.reg->name);
        sys(::chroot("."), "change the root to {}", rootEntry.reg->name);
    }
    sys(::fchdir(cwd.get()), "enter the working directory");
    if (fs.has_umask != 0)
        ::umask(static_cast<mode_t>(fs.umask));
}

}  // namespace criu::engine
