// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/dump_objects.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/engine/dump/files/dump_files.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/namespaces.hpp"
#include "criu/files/proc_path.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/thread_plan.hpp"
#include "images/core.hpp"
#include "images/fs.hpp"

namespace criu::engine {
namespace {

template <typename T>
void writeOne(const ImageDir& images, ImageKind kind, const FrozenTask& task, const T& message) {
    ImageWriter image = images.create(kind, static_cast<std::uint64_t>(task.treePid().value));
    image.write(message);
    image.finish();
}

/// Refuses a thread whose directory is /proc/PID of an ended process. A restore creates a process with this PID only
/// while it opens the path, but threads enter their directories later.
void refuseEndedProcess(std::string_view directory) {
    if (!directory.ends_with(kernel::kDeletedMark))
        return;
    directory.remove_suffix(kernel::kDeletedMark.size());
    if (files::processOfPath(directory))
        fail("its working directory is that of a process in /proc that has ended, which can't be dumped");
}

/// Returns working directory, root and umask of a process or thread. `directory`: "" for the process or "task/TID/" for
/// a thread, below /proc/PID.
FsEntry pathsOf(const FrozenTask& task, const std::string& directory, std::optional<std::uint32_t> umask,
                FileCollector& files) {
    FsEntry fs = FS_ENTRY__INIT;
    fs.cwd_id = files.addLink(task, directory + "cwd", 0, false).value;
    fs.root_id = files.addLink(task, directory + "root", 0, false).value;
    fs.has_umask = umask.has_value();
    fs.umask = umask.value_or(0);
    return fs;
}

}  // namespace

void dumpIds(const FrozenTask& task, std::uint32_t number, std::uint32_t table, const DumpNamespaces& namespaces,
             const ImageDir& images) {
    TaskKobjIdsEntry ids = TASK_KOBJ_IDS_ENTRY__INIT;
    ids.vm_id = ids.fs_id = ids.sighand_id = number;
    ids.files_id = table;
    namespaces.storeNumbers(task.pid(), ids);
    writeOne(images, ImageKind::Ids, task, ids);
}

void dumpPaths(const FrozenTask& task, FileCollector& files, const ImageDir& images) {
    writeOne(images, ImageKind::Fs, task, pathsOf(task, "", task.status.umask, files));
}

std::map<std::uint32_t, FsEntry> threadPaths(const FrozenTask& task, FileCollector& files) {
    std::map<std::uint32_t, FsEntry> all;
    kernel::ProcBuffer buffer;
    for (std::size_t i = 0; i < task.objects.size(); ++i) {
        const std::uint32_t number = task.objects[i].fs;
        if (number == 0 || all.contains(number))
            continue;
        const pid_t tid = task.process->threads()[i].tracee.tid();
        const ErrorContext context([&] { return fmt::format("thread {}", tid); });
        const std::string directory = fmt::format("task/{}/", tid);
        refuseEndedProcess(task.dir.readLink(directory + "cwd"));
        all.emplace(number, pathsOf(task, directory, kernel::readThreadStatus(task.dir, tid, buffer).umask, files));
    }
    return all;
}

}  // namespace criu::engine
