// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_deleted.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/model/id_map.hpp"
#include "images/mnt.hpp"

namespace criu::namespaces {
namespace {

struct stat statusOfMount(int mount) {
    struct stat stat {};
    sys(::fstat(mount, &stat), "look at a mount of a deleted file");
    return stat;
}

std::vector<std::byte> contentOf(int mount, std::size_t size) {
    const std::string path = fmt::format("/proc/self/fd/{}", mount);
    const UniqueFd file(sys(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open a deleted file that is mounted"));
    std::vector<std::byte> content(size);
    inContext([] { return "a deleted file that is mounted"; }, [&] { readAt(file.get(), content, 0); });
    return content;
}

}  // namespace

bool isDeletedFile(int mount, std::uint64_t limit) {
    const struct stat stat = statusOfMount(mount);
    if (S_ISDIR(stat.st_mode))
        return false;
    if (!S_ISREG(stat.st_mode))
        fail("it is a mount of a deleted file that isn't a regular one, which would be lost");
    if (stat.st_nlink != 0)
        fail("it is a mount of a deleted file that has {} other names, to which a restore couldn't find back",
             stat.st_nlink);
    if (static_cast<std::uint64_t>(stat.st_size) > limit) {
        Error error(0, fmt::format("it is a mount of a deleted file of {} bytes", stat.st_size));
        error.addHint(fmt::format("have it in the images with --ghost-limit {}", stat.st_size));
        throw error;
    }
    return true;
}

MntDeletedFileEntry* describeDeletedFile(int mount, const model::IdMap& ids, Arena& arena) {
    const struct stat stat = statusOfMount(mount);
    auto& entry = *arena.make<MntDeletedFileEntry>();
    entry.mode = stat.st_mode & 07777U;
    entry.uid = ids.seenUid(stat.st_uid);
    entry.gid = ids.seenGid(stat.st_gid);
    entry.atime = nanosecondsOf(stat.st_atim);
    entry.mtime = nanosecondsOf(stat.st_mtim);
    entry.content = arena.bytes(contentOf(mount, static_cast<std::size_t>(stat.st_size)));
    return &entry;
}

UniqueFd DeletedRoots::addDirectory(int below, const std::string& path) {
    const ErrorContext context([&] { return fmt::format("create directory {}, which is deleted again", path); });
    Root& root = roots_.emplace_back();
    root.name = kernel::CreatedName::below(below, path);
    return kernel::cloneMount(root.name.createDirectory().get());
}

UniqueFd DeletedRoots::addFile(int below, const std::string& path, const MntDeletedFileEntry& entry) {
    const ErrorContext context([&] { return fmt::format("create file {}, which is deleted again", path); });
    Root& root = roots_.emplace_back();
    root.name = kernel::CreatedName::below(below, path);
    root.file = root.name.createFile(O_WRONLY);
    root.entry = &entry;
    writeAt(root.file.get(), std::as_bytes(std::span(entry.content.data, entry.content.len)), 0);
    return kernel::cloneMount(root.file.get());
}

void DeletedRoots::remove() {
    for (Root& root : roots_) {
        if (const int code = root.name.remove(); code != 0)
            failWith(code, "remove {}, which is mounted without a name", root.name.name());
        if (root.entry == nullptr)
            continue;
        // Sets the mode after the name is removed, so that no other user can open a file that is a set-user-ID program.
        changeOwner(root.file.get(), root.entry->uid, root.entry->gid);
        changeMode(root.file.get(), root.entry->mode & 07777U);
        changeTimes(root.file.get(), timespecOf(root.entry->atime), timespecOf(root.entry->mtime));
    }
    roots_.clear();
}

}  // namespace criu::namespaces
