// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/task_directories.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/files/service_fds.hpp"
#include "criu/engine/restore/files/task_files.hpp"
#include "criu/files/regular.hpp"
#include "criu/kernel/placeholder_process.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.hpp"
#include "images/fdinfo.hpp"
#include "images/fs.hpp"
#include "images/regfile.hpp"

namespace criu::engine {
namespace {

const RegFileEntry& pathOf(std::uint32_t file, const RestoredFiles& plan, const char* what) {
    const FileEntry& entry = plan.entry(FileId{file});
    if (entry.reg == nullptr)
        fail("the {} directory, file {}, isn't a path", what, entry.id);
    return *entry.reg;
}

}  // namespace

ThreadDirectories::ThreadDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service,
                                     TaskFiles& files)
    : task_(task), objects_(model::objectsOf(task)) {
    const auto open = [&](std::uint32_t file, const char* what) {
        (void)pathOf(file, plan, what);
        return service.moveIn(files.openPath(FileId{file}, O_PATH | O_DIRECTORY));
    };
    for (std::size_t i = 0; i < task.threads.size(); ++i) {
        const std::uint32_t number = objects_[i].fs;
        if (number == 0 || byNumber_.contains(number))
            continue;
        const ErrorContext context([&] { return fmt::format("thread {}", task.threads[i].tid); });
        const FsEntry& fs = *(*task.threads[i].core)->thread_core->fs;
        Own& own = byNumber_[number];
        own.entry = &fs;
        if (fs.root_id != (*task.fs)->root_id)
            own.root = open(fs.root_id, "root");
        own.cwd = open(fs.cwd_id, "working");
    }
}

void ThreadDirectories::addSteps(std::size_t index, pie::StepList& steps, pie::RemoteData& data) const {
    const Own& own = byNumber_.at(objects_[index].fs);
    const auto thread = static_cast<std::uint64_t>(task_.threads[index].tid.value);
    if (own.root) {
        steps.call(pie::Subject::Directory, thread, SYS_fchdir, own.root.get());
        steps.call(pie::Subject::Directory, thread, SYS_chroot, data.putString("."));
    }
    steps.call(pie::Subject::Directory, thread, SYS_fchdir, own.cwd.get());
    if (own.entry->has_umask != 0)
        steps.call(pie::Subject::Directory, thread, SYS_umask, own.entry->umask);
}

std::size_t ThreadDirectories::descriptors(const model::ProcessTree& tree) {
    std::map<std::shared_ptr<model::FdTable>, std::size_t> counts;
    std::size_t most = 0;
    for (const auto& task : tree.tasks) {
        std::set<std::uint32_t> numbers;
        for (const model::ThreadObjects& objects : model::objectsOf(*task))
            if (objects.fs != 0)
                numbers.insert(objects.fs);
        most = std::max(most, counts[task->files] += 2 * numbers.size());
    }
    return most;
}

void enterDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files) {
    const FsEntry& fs = **task.fs;
    const UniqueFd root = service.moveIn(files.openPath(FileId{fs.root_id}, O_PATH | O_DIRECTORY));
    const auto owner = files::createPlaceholderOwner(pathOf(fs.cwd_id, plan, "working"), plan.remaps());
    const UniqueFd cwd = service.moveIn(files.openPath(FileId{fs.cwd_id}, O_PATH | O_DIRECTORY));
    if (const RegFileEntry& path = pathOf(fs.root_id, plan, "root"); std::string_view(path.name) != "/") {
        sys(::fchdir(root.get()), "enter the root directory {}", path.name);
        sys(::chroot("."), "change the root to {}", path.name);
    }
    sys(::fchdir(cwd.get()), "enter the working directory");
    if (fs.has_umask != 0)
        ::umask(static_cast<mode_t>(fs.umask));
}

}  // namespace criu::engine
