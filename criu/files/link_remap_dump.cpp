// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/regular.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/options.hpp"
#include "images/fdinfo.hpp"

/// Files to which their path doesn't lead any more. criu finds the mount of such a file and creates a temporary hard
/// link (--link-remap).
namespace criu::files {
namespace {

/// Returns the nearest existing directory above a path. `at`: converts a path of the tree to a path that criu can use.
std::string nearestDirectory(const std::string& path, const std::function<std::string(const std::string&)>& at) {
    std::string folder = path.substr(0, path.rfind('/'));
    while (!folder.empty() && ::access(at(folder).c_str(), F_OK) != 0 && errno == ENOENT)
        folder.resize(folder.rfind('/'));  // this directory was also removed
    return folder;
}

/// Throws Error unless criu can create another name of the file in `folder`. The folder must be on the file's mount
/// (linkat(2): EXDEV).
void requireDirectory(const OpenFd& file, const std::string& folder, const std::string& seen) {
    if (S_ISDIR(file.stat.st_mode))
        fail("{} is a directory that its path doesn't lead to, and can't have a further name", file.describe());
    const UniqueFd directory(::open(seen.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const int id = file.mountId();
    if (directory && kernel::mountIdOf(directory.get()).value_or(id) == id)
        return;
    Error error(0, fmt::format("{} can't be reached by its path, and can't be given another name: {} is on another "
                               "mount",
                               file.describe(), folder.empty() ? "/" : folder));
    error.addHint("unmount what lies over its directory, or have the program close it before the dump");
    throw error;
}

/// Calls CreatedName::link(). On a file system of the tree's user namespace, only users with a mapping in this
/// namespace may create files. If the call fails for this reason, a thread repeats it with such a user as fsuid, and
/// keeps its capabilities.
int linkFile(int file, kernel::CreatedName& to, const model::IdMap& ids) {
    int code = to.link(file);
    if (code != EOVERFLOW || !ids.isOwnNamespace())
        return code;
    kernel::runInThread([&] {
        sys(::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP), "make changes of the user leave capabilities alone");
        ::setfsgid(ids.outerGid(ids.firstGid()));
        ::setfsuid(ids.outerUid(ids.firstUid()));
        code = to.link(file);
    });
    return code;
}

}  // namespace

[[noreturn]] void refuseOutside(const OpenFd& file) {
    Error error(0, fmt::format("{} lies on a mount outside of the tree's mount namespace, or on one that is detached "
                               "(umount -l, open_tree(2), fsmount(2))",
                               file.describe()));
    if (file.fd >= 0)
        error.addHint(fmt::format("name it: --external file[{:x}:{:x}] and on restore --inherit-fd", file.mountId(),
                                  file.stat.st_ino));
    else
        error.addHint("have the process leave it before the dump");
    throw error;
}

bool PathDump::isMounted(const OpenFd& file, const TreeRoot& tree) {
    const int id = file.mountId();
    if (tree.isOwn())
        return tree.hasMount(id);
    if (!ownMounts_) {
        kernel::ProcBuffer buffer;
        ownMounts_.emplace(kernel::readMountInfo(kernel::ProcDir().self(), buffer));
    }
    return id < 0 || ownMounts_->find(id) != nullptr;  // before Linux 5.8, the mount id may be unknown
}

std::optional<std::string> PathDump::otherName(const OpenFd& file, const std::string& path, const FileDump& dump) {
    const TreeRoot& tree = dump.treeRoot();
    const auto at = [&](const std::string& name) { return tree.isOwn() ? tree.at(name, file.mountId()) : name; };
    const std::string folder = path.substr(0, path.rfind('/'));
    const auto close = [](DIR* opened) { ::closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> directory(::opendir(at(folder + "/").c_str()), close);
    if (!directory)
        return std::nullopt;
    std::optional<std::string> found;
    while (const dirent* const entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        struct stat status {};
        if (name.starts_with(kLinkRemapPrefix) || (found && *found <= name) ||
            ::fstatat(::dirfd(directory.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            status.st_dev != file.stat.st_dev || status.st_ino != file.stat.st_ino)
            continue;
        const UniqueFd opened(::openat(::dirfd(directory.get()), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
        const int mount = file.mountId();
        if (opened && kernel::mountIdOf(opened.get()).value_or(mount) == mount)
            found = name;
    }
    return found ? std::optional(fmt::format("{}/{}", folder, *found)) : std::nullopt;
}

FileId PathDump::linkRemap(const OpenFd& file, const std::string& path, FileDump& dump) {
    const auto key = std::pair(file.stat.st_dev, file.stat.st_ino);
    if (const auto known = linked_.find(key); known != linked_.end())
        return known->second;
    const TreeRoot& tree = dump.treeRoot();
    const auto at = [&](const std::string& name) { return tree.isOwn() ? tree.at(name, file.mountId()) : name; };
    if (!isMounted(file, tree))
        refuseOutside(file);
    const std::string folder = nearestDirectory(path, at);
    requireDirectory(file, folder, at(folder.empty() ? "/" : folder));
    if (!dump.options().linkRemap) {
        Error error(0, fmt::format("{} has lost its name while the file has others ({} links)", file.describe(),
                                   file.stat.st_nlink));
        error.addHint("dump with --link-remap: it keeps the file under a temporary hard link");
        throw error;
    }
    const FileId id = dump.nextId();
    const std::string stem = fmt::format("{}/{}{}", folder, kLinkRemapPrefix, id);
    std::string link = stem;
    kernel::CreatedName created;
    constexpr int kTries = 1000;  // skips existing links with the same name
    int code = EEXIST;
    for (int next = 1; next <= kTries; ++next) {
        created = kernel::CreatedName(at(link));
        code = linkFile(file.copy.get(), created, dump.ids());
        if (code != EEXIST)
            break;
        link = fmt::format("{}.{}", stem, next);
    }
    if (code != 0)
        failWith(code, "link {} to {}", file.describe(), link);
    dump.log().journal().record({"link", fmt::format("{}", file.stat.st_dev), fmt::format("{}", file.stat.st_ino),
                                 kernel::ProcDir().self().readLink(fmt::format("fd/{}", created.directory())),
                                 created.name()});
    links_.push_back(std::move(created));
    linked_.emplace(key, id);

    auto& entry = *dump.arena().make<FileEntry>();
    auto& out = *dump.arena().make<RegFileEntry>();
    entry.type = FD_TYPES__REG;
    entry.id = id.value;
    entry.reg = &out;
    out.id = id.value;
    out.fown = dump.arena().make<FownEntry>();
    if (dump.treeRoot().isDumped()) {
        out.has_mnt_id = 1;
        out.mnt_id = file.mountId();
    }
    out.name = dump.arena().string(link);
    out.has_mode = 1;
    out.mode = file.stat.st_mode;
    dump.add(entry);
    return id;
}

void PathDump::removeLinks(Log& log) noexcept {
    for (kernel::CreatedName& link : links_)
        if (const int code = link.remove(); code != 0 && code != ENOENT)
            log.warn("the temporary link {} is left: {}", link.name(), std::strerror(code));
    links_.clear();
}

void PathDump::leaveLinks() noexcept {
    for (kernel::CreatedName& link : links_)
        link.release();
}

}  // namespace criu::files
