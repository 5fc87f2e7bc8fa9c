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

/// Of /dev/fuse, the kernel's list of devices.
constexpr unsigned kFuseMajor = 10;
constexpr unsigned kFuseMinor = 229;

struct Found {
    dev_t device = 0;
    bool isFuseDevice = false;
};

/// What a link of /proc/PID leads to. AT_STATX_DONT_SYNC has the kernel answer from what it knows (Linux 4.20 for
/// FUSE), and such links are followed without looking anything up.
std::optional<Found> lookAt(const kernel::ProcPid& process, const std::string& link) {
    struct statx status {};
    if (::statx(process.fd(), link.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &status) != 0)
        return std::nullopt;
    return Found{makedev(status.stx_dev_major, status.stx_dev_minor), S_ISCHR(status.stx_mode) &&
                                                                          status.stx_rdev_major == kFuseMajor &&
                                                                          status.stx_rdev_minor == kFuseMinor};
}

/// Whether somebody but root can have given the tree its files.
bool isOfOthers(FrozenTree& tree) {
    const kernel::ProcPid self = kernel::ProcDir().self();
    const auto own = kernel::readNamespaceId(self, NamespaceKind::User);
    return std::any_of(tree.tasks().begin(), tree.tasks().end(), [own](const auto& task) {
        const kernel::CredentialIds& uid = task->status.uid;
        return task->alive() && (uid.real != 0 || uid.effective != 0 || uid.saved != 0 || uid.filesystem != 0 ||
                                 task->namespaceOf(NamespaceKind::User) != own);
    });
}

/// Of the file system that memfds and other shared memory are in, which is mounted nowhere.
dev_t sharedMemoryDevice() {
    const UniqueFd file(sys(::memfd_create("criu", MFD_CLOEXEC), "make a memfd"));
    struct stat status {};
    sys(::fstat(file.get(), &status), "stat a memfd");
    return status.st_dev;
}

/// The FUSE file systems there are, mounted or not: the kernel has a list of its connections to servers, called by
/// device numbers (fs/fuse/control.c). Nothing where that list isn't mounted, or there are none.
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

/// The mount namespaces of the tree, and which file systems in them have servers.
class ServedFileSearch {
public:
    /// `others`: the tree is of others, who may hide a file system: unmount it while they have files of it, or get such
    /// files from elsewhere. What is mounted neither in the tree's namespaces nor in criu's, and isn't the kernel's
    /// own, is then taken to have a server, and so are overlays in others' namespaces: a layer may have one. In trees
    /// of root only FUSE file systems are looked for that are mounted in none of these namespaces.
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
            // The text is looked at first: usually there is none in it.
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
    /// Files may be of file systems that aren't seen.
    [[nodiscard]] bool layered() const noexcept { return layered_; }
    /// Devices of file systems that are mounted somewhere have major numbers, or are known. Anonymous memory has none.
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
    /// A process answers for it, and no other machine.
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
    std::set<dev_t> mounted_;    ///< all there are, if hidden ones are looked for
    std::set<dev_t> unmounted_;  ///< FUSE file systems that are mounted in no namespace looked at
    kernel::ProcBuffer buffer_;
    std::set<std::optional<std::uint32_t>> spaces_;
    std::map<dev_t, std::string> names_;
    std::set<dev_t> ofProcesses_;
    std::optional<std::string> mountedInTree_;
};

/// What one process has to do with them.
struct Part {
    bool usesAny = false;
    std::optional<std::string> use;     ///< what it has on one that a process answers for
    std::optional<std::string> server;  ///< where it has /dev/fuse
};

/// `samples`: gets one file of each.
Part partOf(const FrozenTask& task, ServedFileSearch& served, std::map<dev_t, UniqueFd>& samples,
            kernel::ProcBuffer& buffer) {
    Part part;
    const auto note = [&](const auto& what, const std::string& link, dev_t device) {
        // What is the kernel's own, such as a pipe, has no path.
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
    // A thread may have directories of its own (CLONE_FS).
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
        // An error is an answer, too. The dump of the file reports it.
        (void)::fstat(sample.get(), &status);
        (void)::fstatfs(sample.get(), &system);
    }
}

}  // namespace criu::engine
