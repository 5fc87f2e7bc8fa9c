// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/missing_files.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <unordered_set>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/files/path_open.hpp"
#include "criu/files/regular.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "images/core.hpp"
#include "images/fdinfo.hpp"
#include "images/fs.hpp"
#include "images/mm.hpp"
#include "images/regfile.hpp"

namespace criu::engine {
namespace {

/// Returns true if a missing path is in a cgroup hierarchy: the restore creates the tree's cgroups before it opens
/// files.
bool isMadeByRestore(std::string path) {
    struct statfs system {};
    while (::statfs(path.c_str(), &system) != 0) {
        const std::size_t slash = path.rfind('/');
        if (slash == 0 || slash == std::string::npos)
            return false;
        path.resize(slash);
    }
    return system.f_type == CGROUP_SUPER_MAGIC || system.f_type == CGROUP2_SUPER_MAGIC;
}

/// Returns true if a component of the path except the last one is a symbolic link.
bool hasLinkOnTheWay(const std::string& path) {
    open_how how{};
    how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS;
    return UniqueFd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how)))).get() < 0 &&
           errno == ELOOP;
}

/// Returns the mount points of FUSE file systems.
std::vector<std::string> mountPointsOfServers() {
    std::vector<std::string> found;
    kernel::ProcBuffer buffer;
    const std::string_view text = kernel::ProcDir().self().read("mountinfo", buffer);
    if (!kernel::anyMountIs(text, kernel::hasServer))
        return found;
    for (const kernel::MountInfo& mount : kernel::parseMountInfo(text))
        if (kernel::hasServer(mount.fsType))
            found.push_back(mount.mountPoint);
    return found;
}

class Search {
public:
    /// Prepares a search that sends no request to FUSE servers: not even SIGKILL would end a wait for their reply.
    Search(const PlannedRestore& planned, const std::string& root)
        : planned_(planned), root_(root), servers_(mountPointsOfServers()) {}

    std::vector<MissingFile> all(std::vector<Refusal>* changed = nullptr) {
        changed_ = changed;
        for (const auto& task : planned_.tree().tasks)
            if (task->alive())
                lookAt(*task);
        return std::move(missing_);
    }

private:
    void lookAt(const model::Task& task) {
        if (task.mm)
            need((*task.mm)->exe_file_id, [&] { return fmt::format("the program of process {}", task.pid); });
        if (task.fs) {
            need((*task.fs)->cwd_id, [&] { return fmt::format("the working directory of process {}", task.pid); });
            need((*task.fs)->root_id, [&] { return fmt::format("the root directory of process {}", task.pid); });
        }
        for (const model::Thread& thread : task.threads)
            if (const FsEntry* const own = (*thread.core)->thread_core->fs; own != nullptr) {
                need(own->cwd_id, [&] { return fmt::format("the working directory of thread {}", thread.tid); });
                need(own->root_id, [&] { return fmt::format("the root directory of thread {}", thread.tid); });
            }
        if (task.mm)
            for (const VmaEntry* const vma : list((**task.mm).vmas, (**task.mm).n_vmas))
                if (isOfFile(*vma))
                    need(static_cast<std::uint32_t>(vma->shmid),
                         [&] { return fmt::format("mapped by process {}", task.pid); });
        if (task.files && task.files->users.front() == task.pid)
            for (const model::FdSlot& slot : task.files->slots)
                if (slot.type == FD_TYPES__REG)
                    need(slot.file.value, [&] { return fmt::format("fd {} of process {}", slot.fd, task.pid); });
    }

    static bool isOfFile(const VmaEntry& vma) {
        using enum memory::VmaStatus;
        return (memory::is(vma, FilePrivate) || memory::is(vma, FileShared)) && !memory::is(vma, Memfd) &&
               !memory::is(vma, Plugin) && !memory::is(vma, IoUring) && !memory::is(vma, AioRing);
    }

    template <typename Use>
    void need(std::uint32_t id, Use&& use) {
        if (!seen_.insert(id).second)
            return;
        const auto found = planned_.content.files.find(FileId{id});
        if (found == planned_.content.files.end() || found->second->reg == nullptr)
            return;  // the restore reports this error when it opens the file
        const files::PathRemaps& remaps = planned_.files.remaps();
        if (const std::string* const link = remaps.linkOf(FileId{id}); link != nullptr) {
            (void)isThere(*link, use, true);
            return;
        }
        const RegFileEntry& entry = *found->second->reg;
        const std::string path = fmt::format("{}{}", entry.name[0] == '/' ? "" : "/", entry.name);
        const bool isExternal = entry.has_ext != 0 && entry.ext != 0;
        if (!isExternal && !remaps.has(FileId{id}) && !isGiven(path) && !path.starts_with("/proc/"))
            if (isThere(path, use, false) && changed_ != nullptr)
                compare(entry, path, use());
    }

    [[nodiscard]] bool isGiven(const std::string& path) const {
        const auto& given = planned_.options().inheritFds;
        return std::any_of(given.begin(), given.end(),
                           [&](const model::InheritFd& one) { return path.compare(1, path.npos, one.name) == 0; });
    }

    /// Returns true if the file exists, and criu may look at it. Adds a missing file.
    template <typename Use>
    bool isThere(const std::string& path, Use&& use, bool ofDump) {
        struct stat status {};
        if (found_.contains(path))
            return true;
        if (mayReachFuseServer(root_ + path, servers_))
            return false;
        if (::lstat((root_ + path).c_str(), &status) == 0) {
            found_.insert(path);
            return true;
        }
        if ((errno == ENOENT || errno == ENOTDIR) && !isMadeByRestore(root_ + path) && paths_.insert(path).second)
            missing_.push_back({path, use(), ofDump});
        return false;
    }

    void compare(const RegFileEntry& entry, const std::string& path, const std::string& use) {
        try {
            files::requireDumpedFile(entry, root_ + path, planned_.options());
        } catch (const Error&) {
            Refusal found = Refusal::current();
            found.reason = fmt::format("{}: {}", use, found.reason);
            if (refused_.insert(path).second)
                changed_->push_back(std::move(found));
        }
    }

    const PlannedRestore& planned_;
    std::string root_;
    std::vector<std::string> servers_;  ///< mount points of FUSE file systems, whose servers may not reply
    std::set<std::uint32_t> seen_;
    std::set<std::string> paths_;  ///< missing paths
    std::unordered_set<std::string> found_;
    std::set<std::string> refused_;
    std::vector<Refusal>* changed_ = nullptr;  ///< takes files that differ from the dumped ones; null: not compared
    std::vector<MissingFile> missing_;
};

}  // namespace

bool mayReachFuseServer(const std::string& name, const std::vector<std::string>& mountPoints) {
    if (mountPoints.empty())
        return false;
    const std::string path = std::filesystem::path(name).lexically_normal();
    const auto isBelow = [&path](const std::string& mountPoint) {
        return mountPoint == "/" ||
               (path.starts_with(mountPoint) && (path.size() == mountPoint.size() || path[mountPoint.size()] == '/'));
    };
    return std::any_of(mountPoints.begin(), mountPoints.end(), isBelow) || hasLinkOnTheWay(name);
}

std::vector<MissingFile> findMissingFiles(const PlannedRestore& planned, const std::string& root) {
    return Search(planned, root).all();
}

std::vector<MissingFile> findMissingFiles(const PlannedRestore& planned, const std::string& root,
                                          std::vector<Refusal>& changed) {
    return Search(planned, root).all(&changed);
}

std::string describe(const MissingFile& file) {
    return fmt::format("{} ({})", file.path, file.use);
}

void requireFiles(const PlannedRestore& planned) {
    if (planned.nsContext.ownPaths && !planned.nsContext.sameFiles)
        return;  // the paths lead to the tree's mounts, which don't exist yet
    const std::vector<MissingFile> missing = findMissingFiles(planned, "");
    if (missing.empty())
        return;
    // Maximum number of files in the message. If the user provides these files, the next attempt reports the remaining
    // ones.
    constexpr std::size_t kMost = 20;
    std::vector<std::string> shown;
    for (const MissingFile& file : missing)
        if (shown.size() < kMost)
            shown.push_back(describe(file));
    if (missing.size() > kMost)
        shown.push_back(fmt::format("and {} more", missing.size() - kMost));
    Error error(ENOENT, fmt::format("open {}", fmt::join(shown, ", ")));
    const bool used = std::any_of(missing.begin(), missing.end(), [](const MissingFile& file) { return file.ofDump; });
    error.addHint(used ? "images don't hold them; those called link_remap are of the dump, and the first restore takes "
                         "them away: further ones need a new dump"
                  : missing.size() == 1 ? "images don't hold it; put it back"
                                        : "images don't hold them; put them back");
    throw error;
}

}  // namespace criu::engine
