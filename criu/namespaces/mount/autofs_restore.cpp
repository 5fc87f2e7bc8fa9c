// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/autofs_restore.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/autofs.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/mount/mount_images.hpp"

namespace criu::namespaces {
namespace {

constexpr std::string_view kTypes[] = {"direct", "indirect", "offset"};

void check(const AutofsEntry& entry) {
    if (entry.mode < 0 || entry.mode >= static_cast<int>(std::size(kTypes)))
        fail("it has the unknown mode {}", entry.mode);
    if (entry.timeout < 0)
        fail("it has the timeout {}", entry.timeout);
    for (std::size_t at = 0; at < entry.n_names; ++at) {
        const std::string_view name = entry.names[at]->name;
        if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos)
            fail("{} is no name", name);
    }
}

/// Returns the daemon's descriptor number of the pipe.
int pipeOf(const AutofsEntry& entry) {
    return entry.has_read_fd != 0 ? entry.read_fd : entry.fd;
}

/// Returns the daemon: the process in the autofs' process group that has the pipe.
TreePid daemonOf(const AutofsEntry& entry, const model::ProcessTree& tree) {
    if (entry.fd < 0)
        return {};
    for (const auto& task : tree.tasks) {
        if (!task->alive() || task->pgid != TreePid(entry.pgrp) || !task->files)
            continue;
        const auto& slots = task->files->slots;
        if (std::any_of(slots.begin(), slots.end(),
                        [&](const model::FdSlot& slot) { return slot.fd == pipeOf(entry); }))
            return task->pid;
    }
    fail("no process of group {} has fd {}, the pipe of its daemon", entry.pgrp, pipeOf(entry));
}

std::string optionsOf(const Mount& mount, const AutofsEntry& entry, int pipe) {
    std::string options =
        fmt::format("fd={},minproto={},maxproto={},{}", pipe, entry.minproto, entry.maxproto, kTypes[entry.mode]);
    if (entry.has_uid != 0)
        options += fmt::format(",uid={}", static_cast<uid_t>(entry.uid));
    if (entry.has_gid != 0)
        options += fmt::format(",gid={}", static_cast<gid_t>(entry.gid));
    const kernel::AutofsOptions shown = kernel::parseAutofsOptions(mount.options);
    if (shown.strictExpire)
        options += ",strictexpire";
    if (shown.ignored)
        options += ",ignore";
    return options;
}

void makeDirectories(int root, const std::string& path) {
    constexpr mode_t kMode = 0755;
    for (std::size_t end = 0; end != std::string::npos;) {
        end = path.find('/', end + 1);
        const std::string directory = path.substr(0, end);
        const UniqueFd parent = openBelow(root, parentDirectory(directory), O_PATH | O_DIRECTORY);
        const std::string name = directory.substr(directory.rfind('/') + 1);
        if (const int code = tryMakeDirectory(parent.get(), name.c_str(), kMode); code != 0 && code != EEXIST)
            failWith(code, "make {} in an autofs", directory);
    }
}

}  // namespace

AutofsRestore::AutofsRestore(const ImageDir& images, const MountImages& mounts, const model::ProcessTree& tree)
    : mounts_(mounts) {
    for (const Mount* const mount : mounts.all()) {
        if (!mount->isAutomount() || systems_.contains(mount->device))
            continue;
        const ErrorContext context([&] { return mount->describe(); });
        auto entry = images.openRequired(ImageKind::Autofs, mount->device).only<AutofsEntry>();
        check(*entry);
        const TreePid daemon = daemonOf(*entry, tree);
        systems_.emplace(mount->device, FileSystem{std::move(entry), daemon});
    }
}

void AutofsRestore::openDevice(kernel::FdStore& store) {
    store_ = &store;
    if (!systems_.empty())
        device_ = store.inherit(kernel::FdKey::Mount, kernel::AutofsControl::open());
}

UniqueFd AutofsRestore::make(const Mount& mount) {
    FileSystem& system = systems_.at(mount.device);
    const AutofsEntry& entry = *system.entry;
    // A child process that leads a process group creates and fills the file system, because only processes of the
    // daemon's group may create names in it. Later the kernel accepts the dumped daemon as a replacement only if this
    // group is in the daemon's pid namespace. The group of the calling process may be outside of that namespace.
    constexpr int kMount = 0;
    constexpr int kRoot = 1;
    const int device = device_.get();
    auto opened = kernel::openInNamespaces({}, std::span(&device, 1), [&] {
        sys(::setpgid(0, 0), "lead a process group");
        int ends[2];
        sys(::pipe2(ends, O_CLOEXEC), "create a pipe");
        const UniqueFd reading(ends[0]);
        const UniqueFd writing(ends[1]);
        std::map<int, UniqueFd> made;
        made[kMount] = kernel::mountFileSystem(
            {mount.fsType, mount.source, optionsOf(mount, entry, writing.get()), mount.superFlags});
        made[kRoot].reset(sys(::openat(made[kMount].get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                              "open the root of a new file system"));
        const kernel::AutofsControl control(device);
        control.setTimeout(made[kRoot].get(), static_cast<std::uint64_t>(entry.timeout));
        fill(mount, entry, made[kRoot].get());
        control.makeCatatonic(made[kRoot].get());
        return made;
    });
    system.root = store_->inherit(kernel::FdKey::Mount, std::move(opened.at(kRoot)));
    return std::move(opened.at(kMount));
}

/// Creates the dumped names, and all directories on which other mounts of the tree will lie.
void AutofsRestore::fill(const Mount& mount, const AutofsEntry& entry, int root) const {
    for (std::size_t at = 0; at < entry.n_names; ++at)
        if (const AutofsNameEntry& name = *entry.names[at]; name.target != nullptr)
            makeLink(root, name.name, name.target);
        else
            makeDirectories(root, name.name);
    for (const Mount* const child : mounts_.all()) {
        const Mount* const parent = mounts_.find(child->parentId);
        if (mounts_.isRoot(*child) || parent == nullptr || parent->device != mount.device)
            continue;
        const auto below = pathBelow(parent->mountPoint, child->mountPoint);
        const auto base = pathBelow("/", parent->root);
        if (!below || !base)
            fail("{} doesn't lie below its parent", child->describe());
        if (!below->empty())
            makeDirectories(root, base->empty() ? *below : fmt::format("{}/{}", *base, *below));
    }
}

void AutofsRestore::activate(const model::Task& task) const {
    for (const auto& [number, system] : systems_)
        if (system.daemon && system.daemon == task.pid)
            activate(system);
}

void AutofsRestore::activate(const FileSystem& system) const {
    const AutofsEntry& entry = *system.entry;
    const ErrorContext context([&] { return fmt::format("autofs of the pipe fd {}", pipeOf(entry)); });
    const kernel::AutofsControl control(device_.get());
    if (entry.has_read_fd == 0)
        return control.setPipe(system.root.get(), entry.fd);
    // Compares the pipe, because the daemon has closed the write end, and its descriptor number may belong to another
    // file.
    const std::string link = fmt::format("/proc/self/fd/{}", entry.read_fd);
    const UniqueFd writing(
        sys(::open(link.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), "open the other end of fd {}", entry.read_fd));
    UniqueFd there;
    if (::fcntl(entry.fd, F_GETFD) < 0)
        there.reset(::dup3(writing.get(), entry.fd, O_CLOEXEC));
    control.setPipe(system.root.get(), there ? there.get() : writing.get());
}

}  // namespace criu::namespaces
