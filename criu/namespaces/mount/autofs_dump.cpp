// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/autofs_dump.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "images/autofs.hpp"

namespace criu::namespaces {
namespace {

struct Name {
    std::string name;
    std::optional<std::string> target;  ///< target of a symbolic link; unset for a directory
};

std::string targetOf(int directory, const std::string& name) {
    std::array<char, PATH_MAX> target{};
    const auto length = sys(::readlinkat(directory, name.c_str(), target.data(), target.size()), "read link {}", name);
    return {target.data(), static_cast<std::size_t>(length)};
}

std::vector<Name> namesIn(int mount) {
    struct CloseDirectory {
        void operator()(DIR* open) const noexcept { ::closedir(open); }
    };
    // The kernel returns ENOENT for an empty directory on which the daemon must mount a file system (autofs_dir_open()
    // of Linux).
    const int fd = ::openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return {};
    const std::unique_ptr<DIR, CloseDirectory> open(::fdopendir(sys(fd, "open the root of an autofs")));
    if (!open)
        failErrno("list an autofs");
    std::vector<Name> names;
    while (const dirent* const entry = ::readdir(open.get())) {
        const std::string name = entry->d_name;
        if (name == "." || name == "..")
            continue;
        if (entry->d_type != DT_DIR && entry->d_type != DT_LNK)
            fail("{} in an autofs is neither a directory nor a link", name);
        names.push_back({name, entry->d_type == DT_LNK ? std::optional(targetOf(fd, name)) : std::nullopt});
    }
    return names;
}

}  // namespace

bool AutofsDump::take(const Mount& mount) {
    if (has(mount.device))
        return true;
    const ErrorContext context([&] { return mount.describe(); });
    const kernel::AutofsOptions options = kernel::parseAutofsOptions(mount.options);
    std::optional<Taken> found;
    if (options.pipe < 0)
        found = Taken{.options = options, .group = TreePid(options.group), .pipe = -1, .reading = std::nullopt};
    else if (options.pipeInode)
        found = find(options);
    if (found && tree_.root().ids.of(kernel::NamespaceKind::User) != tree_.criu.of(kernel::NamespaceKind::User))
        fail("the kernel permits no mount of an autofs in a user namespace");
    if (found)
        taken_.emplace(mount.device, *found);
    return found.has_value();
}

/// Finds the daemon: a process of the autofs' process group that has an end of the pipe. A restore gives the new pipe
/// to this process.
std::optional<AutofsDump::Taken> AutofsDump::find(const kernel::AutofsOptions& options) const {
    const std::string wanted = fmt::format("pipe:[{}]", *options.pipeInode);
    kernel::ProcBuffer buffer;
    const std::size_t level = kernel::readStatus(tree_.root().dir, buffer).nsPid.size();
    for (const SeenProcess& process : tree_.processes) {
        if (kernel::readStat(process.dir, buffer).pgrp != options.group)
            continue;
        // The kernel lets a daemon replace another one only in the same pid namespace. In a restore, criu is the first
        // daemon, and the dumped daemon replaces it.
        const std::vector<pid_t> groups = kernel::readStatus(process.dir, buffer).nsPgid;
        if (groups.size() != level || (level > 0 && groups.back() == 0))
            continue;
        Taken found{.options = options,
                    .group = TreePid(level > 0 ? groups.back() : options.group),
                    .pipe = -1,
                    .reading = std::nullopt};
        for (const int fd : process.dir.numbers("fd")) {
            if (process.dir.readLink(fmt::format("fd/{}", fd)) != wanted)
                continue;
            const bool writes = (kernel::readFdInfo(process.dir, fd, buffer).flags & O_ACCMODE) != O_RDONLY;
            if (writes && (found.pipe < 0 || fd == options.pipe))
                found.pipe = fd;
            else if (!writes && !found.reading)
                found.reading = fd;
        }
        if (found.pipe >= 0 || found.reading)
            return found;
    }
    return std::nullopt;
}

bool AutofsDump::hasNames(std::uint32_t device) const {
    return taken_.at(device).options.type == kernel::AutofsType::Indirect;
}

void AutofsDump::write(const ImageDir& images, const Mount& mount, const UniqueFd* opened) const {
    const ErrorContext context([&] { return mount.describe(); });
    const Taken& taken = taken_.at(mount.device);
    const kernel::AutofsOptions& options = taken.options;
    if (options.timeout > INT_MAX)
        fail("its timeout, {} s, is too long for an image", options.timeout);
    Arena arena;
    AutofsEntry entry = AUTOFS_ENTRY__INIT;
    entry.fd = taken.pipe >= 0 ? taken.pipe : options.pipe;
    entry.pgrp = taken.group.value;
    entry.timeout = static_cast<std::int32_t>(options.timeout);
    entry.minproto = options.minProtocol;
    entry.maxproto = options.maxProtocol;
    entry.mode = static_cast<std::int32_t>(options.type);
    if (options.user) {
        entry.has_uid = 1;
        entry.uid = static_cast<std::int32_t>(*options.user);
    }
    if (options.owningGroup) {
        entry.has_gid = 1;
        entry.gid = static_cast<std::int32_t>(*options.owningGroup);
    }
    if (taken.pipe < 0 && taken.reading) {
        entry.has_read_fd = 1;
        entry.read_fd = *taken.reading;
    }
    const std::vector<Name> names = opened != nullptr ? namesIn(opened->get()) : std::vector<Name>();
    entry.n_names = names.size();
    entry.names = arena.messages<AutofsNameEntry>(names.size());
    for (std::size_t at = 0; at < names.size(); ++at) {
        entry.names[at]->name = arena.string(names[at].name);
        if (names[at].target)
            entry.names[at]->target = arena.string(*names[at].target);
    }
    ImageWriter image = images.create(ImageKind::Autofs, mount.device);
    image.write(entry);
    image.finish();
}

}  // namespace criu::namespaces
