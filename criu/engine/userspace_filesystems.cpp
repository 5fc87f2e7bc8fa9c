// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/userspace_filesystems.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

namespace criu::engine {
namespace {

using kernel::NamespaceKind;

/// Device number of /dev/fuse (Linux, Documentation/admin-guide/devices.txt).
constexpr unsigned kFuseMajor = 10;
constexpr unsigned kFuseMinor = 229;

struct Found {
    dev_t device = 0;
    bool isFuseDevice = false;
};

/// Returns the device of the file to which a link below /proc/PID leads. Sends no request to a FUSE server: the kernel
/// follows such a link without a path lookup. AT_STATX_DONT_SYNC makes FUSE use cached attributes (Linux 4.20).
std::optional<Found> lookAt(const kernel::ProcPid& process, const std::string& link) {
    struct statx status {};
    if (::statx(process.fd(), link.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &status) != 0)
        return std::nullopt;
    return Found{makedev(status.stx_dev_major, status.stx_dev_minor), S_ISCHR(status.stx_mode) &&
                                                                          status.stx_rdev_major == kFuseMajor &&
                                                                          status.stx_rdev_minor == kFuseMinor};
}

/// Returns true if the tree has processes of users other than root. Such a user may have chosen the tree's files.
bool isOfOthers(FrozenTree& tree) {
    const kernel::ProcPid self = kernel::ProcDir().self();
    const auto own = kernel::readNamespaceId(self, NamespaceKind::User);
    return std::any_of(tree.tasks().begin(), tree.tasks().end(), [own](const auto& task) {
        const kernel::CredentialIds& uid = task->status.uid;
        return task->alive() && (uid.real != 0 || uid.effective != 0 || uid.saved != 0 || uid.filesystem != 0 ||
                                 task->namespaceOf(NamespaceKind::User) != own);
    });
}

/// Returns the device of the kernel's tmpfs for memfds and shared memory, which is mounted nowhere.
dev_t sharedMemoryDevice() {
    const UniqueFd file(sys(::memfd_create("criu", MFD_CLOEXEC), "make a memfd"));
    struct stat status {};
    sys(::fstat(file.get(), &status), "stat a memfd");
    return status.st_dev;
}

/// Returns the devices of all FUSE file systems, including unmounted ones: fusectl lists the connections to FUSE
/// servers by device number (fs/fuse/control.c). Returns an empty set if fusectl isn't mounted.
std::set<dev_t> fuseConnections() {
    constexpr decltype(statfs::f_type) kFuseControl = 0x65735543;  // FUSE_CTL_SUPER_MAGIC
    const char* const list = "/sys/fs/fuse/connections";
    struct statfs system {};
    std::set<dev_t> devices;
    if (::statfs(list, &system) != 0 || system.f_type != kFuseControl)
        return devices;
    std::error_code vanished;
    for (std::filesystem::directory_iterator entry(list, vanished), end; !vanished && entry != end;
         entry.increment(vanished)) {
        const std::string name = entry->path().filename();
        unsigned number = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc{})
            devices.insert(makedev(0, number));
    }
    return devices;
}

/// Search for userspace and remote file systems in the mount namespaces of the tree.
class ServedFileSearch {
public:
    /// Reads the mount namespaces of the tree and of criu. `others`: true if users other than root chose the tree's
    /// files. Such a user may hide a file system, for instance unmount it while files are open. So with `others`, all
    /// file systems count that are mounted in none of these namespaces, except those of the kernel. Overlays of other
    /// namespaces also count, because their layers may be userspace file systems. For trees of root, only unmounted
    /// FUSE file systems count.
    ServedFileSearch(FrozenTree& tree, bool others) : seesHidden_(others) {
        if (!others)
            unmounted_ = fuseConnections();
        const bool readsAll = others || !unmounted_.empty();
        const kernel::ProcPid self = kernel::ProcDir().self();
        const auto own = kernel::readNamespaceId(self, NamespaceKind::Mount);
        if (others)
            mounted_.insert(sharedMemoryDevice());
        if (readsAll)
            note(self.read("mountinfo", buffer_));
        for (const auto& task : tree.tasks()) {
            if (!task->alive())
                continue;
            const auto space = task->namespaceOf(NamespaceKind::Mount);
            if (!spaces_.insert(space).second)
                continue;
            // Searches the text before parsing it, because most texts contain no such mount and then need no parsing.
            const std::string_view text = task->dir.read("mountinfo", buffer_);
            if (!readsAll && !kernel::anyMountIs(text, kernel::isRemoteFileSystem))
                continue;
            for (const kernel::MountInfo& mount : kernel::parseMountInfo(text)) {
                const dev_t device = makedev(mount.devMajor, mount.devMinor);
                mounted_.insert(device);
                layered_ = layered_ || (others && space != own && mount.fsType == "overlay");
                if (!kernel::isRemoteFileSystem(mount.fsType))
                    continue;
                names_.try_emplace(device, fmt::format("{} ({})", mount.mountPoint, mount.fsType));
                if (!kernel::hasServer(mount.fsType))
                    continue;
                ofProcesses_.insert(device);
                if (space != own && !mountedInTree_)
                    mountedInTree_ = task->describe() + " has a FUSE file system mounted in its namespace";
            }
        }
        for (const dev_t device : mounted_)
            unmounted_.erase(device);
    }

    [[nodiscard]] bool none() const noexcept { return names_.empty() && !seesHidden_ && unmounted_.empty(); }
    /// Returns true if an overlay may have layers on file systems that mountinfo doesn't show.
    [[nodiscard]] bool layered() const noexcept { return layered_; }
    /// Returns true if this device may be that of an unmounted userspace or remote file system. A file system on a
    /// block device has a major number, and needs no server. Device 0 is anonymous memory.
    [[nodiscard]] bool mayBeHidden(dev_t device) const {
        return unmounted_.contains(device) ||
               (seesHidden_ && device != 0 && major(device) == 0 && !mounted_.contains(device));
    }
    void addHidden(dev_t device, const std::string& path) {
        names_.try_emplace(device, fmt::format("{} (which is mounted nowhere)", path));
        if (unmounted_.contains(device))
            ofProcesses_.insert(device);
    }
    [[nodiscard]] bool has(dev_t device) const { return names_.contains(device); }
    /// Returns true for a userspace file system, and false for a remote file system.
    [[nodiscard]] bool isOfProcess(dev_t device) const { return ofProcesses_.contains(device); }
    [[nodiscard]] const std::map<dev_t, std::string>& names() const noexcept { return names_; }
    [[nodiscard]] const std::optional<std::string>& mountedInTree() const noexcept { return mountedInTree_; }

private:
    void note(std::string_view text) {
        for (const kernel::MountInfo& mount : kernel::parseMountInfo(text))
            mounted_.insert(makedev(mount.devMajor, mount.devMinor));
    }

    bool seesHidden_;
    bool layered_ = false;
    std::set<dev_t> mounted_;    ///< devices of all mounts; empty if criu doesn't search unmounted file systems
    std::set<dev_t> unmounted_;  ///< FUSE file systems that are mounted in none of the mount namespaces
    kernel::ProcBuffer buffer_;
    std::set<std::optional<std::uint32_t>> spaces_;
    std::map<dev_t, std::string> names_;
    std::set<dev_t> ofProcesses_;
    std::optional<std::string> mountedInTree_;
};

/// Use of userspace and remote file systems by one process.
struct Part {
    bool usesAny = false;
    std::optional<std::string> use;     ///< name of a file that the process has on a userspace file system
    std::optional<std::string> server;  ///< name of the process' descriptor of /dev/fuse; only a FUSE server has one
};

/// Finds the userspace and remote file systems that one process uses. Puts one file of each of these file systems into
/// `samples`.
Part partOf(const FrozenTask& task, ServedFileSearch& served, std::map<dev_t, UniqueFd>& samples,
            kernel::ProcBuffer& buffer) {
    Part part;
    const auto note = [&](const auto& what, const std::string& link, dev_t device) {
        // Skips files of the kernel, such as pipes, whose link isn't a path.
        if (served.mayBeHidden(device))
            if (const std::string path = task.dir.readLink(link); path.starts_with('/'))
                served.addHidden(device, path);
        if (!served.has(device))
            return;
        part.usesAny = true;
        if (!part.use && served.isOfProcess(device))
            part.use = fmt::format("{} of {} is on {}", what(), task.describe(), served.names().at(device));
        if (UniqueFd& sample = samples[device]; !sample)
            sample = task.dir.open(link, O_PATH);
    };
    for (const int fd : task.dir.numbers("fd")) {
        const std::string link = fmt::format("fd/{}", fd);
        if (const auto found = lookAt(task.dir, link)) {
            note([fd] { return fmt::format("fd {}", fd); }, link, found->device);
            if (found->isFuseDevice && !part.server)
                part.server = fmt::format("fd {} of {}", fd, task.describe());
        }
    }
    std::vector<std::string> links{"cwd", "root", "exe"};
    // A thread may have private directories (clone(2) without CLONE_FS).
    for (const compel::FrozenThread& thread : task.process->threads())
        if (thread.tracee.tid() != task.pid().value)
            for (const char* const link : {"cwd", "root"})
                links.push_back(fmt::format("task/{}/{}", thread.tracee.tid(), link));
    for (const std::string& link : links)
        if (const auto found = lookAt(task.dir, link))
            note([&link] { return link; }, link, found->device);
    for (const kernel::MappedFileSystem& mapped : kernel::parseMappedFileSystems(task.dir.read("maps", buffer)))
        note([&] { return fmt::format("a mapping at {:#x}", mapped.start); },
             fmt::format("map_files/{:x}-{:x}", mapped.start, mapped.end), mapped.device);
    return part;
}

}  // namespace

UserspaceFilesystems::UserspaceFilesystems(FrozenTree& tree) {
    ServedFileSearch served(tree, isOfOthers(tree));
    if (served.none())
        return;
    std::optional<std::string> use = served.mountedInTree();
    std::optional<std::string> server;
    kernel::ProcBuffer buffer;
    for (const auto& task : tree.tasks()) {
        if (!task->alive())
            continue;
        const Part part = partOf(*task, served, samples_, buffer);
        used_ = used_ || part.usesAny;
        if (!use)
            use = part.use;
        if (!server)
            server = part.server;
    }
    used_ = used_ || use.has_value() || served.layered();
    names_ = served.names();
    for (const auto& [device, name] : names_)
        devices_.insert(device);
    if (use && server) {
        Error error(0,
                    fmt::format("{}, which can't answer while the tree stands still: its server may be in the tree ({} "
                                "is /dev/fuse)",
                                *use, *server));
        error.addHint(
            "end the server or unmount the file system before the dump, or have the server outside of the tree");
        throw error;
    }
}

void UserspaceFilesystems::requireResponsive() const {
    for (const auto& [device, sample] : samples_) {
        struct stat status {};
        struct statfs system {};
        // Ignores errors: even an error shows that the file system replies. The dump of the file reports the error.
        (void)::fstat(sample.get(), &status);
        (void)::fstatfs(sample.get(), &system);
    }
}

}  // namespace criu::engine
