// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_views.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/namespaces/mount/seen_mounts.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/pid/nested_proc.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

std::uint32_t deviceOf(int fd) {
    struct stat status {};
    sys(::fstat(fd, &status), "look at a proc file system");
    return kernel::kernelForm(status.st_dev);
}

/// Opens a path with openat2(2). Returns an invalid descriptor if this fails.
UniqueFd tryOpen(int directory, const std::string& path, std::uint64_t resolve, int flags = 0) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(O_PATH | O_CLOEXEC | flags);
    how.resolve = resolve;
    return UniqueFd(static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how))));
}

/// Opens a mount by its path from the root of its mount namespace. Returns an invalid descriptor if the path leads to
/// another mount. This is possible with --skip-mnt, which removes a covering mount only from criu's list.
UniqueFd openReachable(int root, const Mount& mount) {
    UniqueFd fd = tryOpen(root, mount.mountPoint, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
    return fd && deviceOf(fd.get()) == mount.device ? std::move(fd) : UniqueFd();
}

/// Returns the inode of the pid namespace of `process`, as a proc file system shows it. Returns nullopt if the file
/// system doesn't show the process, or if criu may not inspect the process. criu may inspect all processes of the tree.
std::optional<std::uint32_t> namespaceOf(int proc, pid_t process) {
    // RESOLVE_NO_XDEV makes the open fail if the tree has mounted a file over an entry of /proc/PID.
    const UniqueFd link = tryOpen(proc, fmt::format("{}/ns/pid", process),
                                  RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS, O_NOFOLLOW);
    std::array<char, 64> target;
    const ssize_t length = link ? ::readlinkat(link.get(), "", target.data(), target.size()) : -1;
    return length < 0 ? std::nullopt
                      : std::optional(kernel::parseNamespaceLink({target.data(), static_cast<std::size_t>(length)}));
}

/// Proc file system that mounts of the tree show.
struct ProcSystem {
    const Mount* whole = nullptr;  ///< mount of the whole file system
    UniqueFd root;                 ///< descriptor of `whole`, or of criu's /proc
    const Mount* seen = nullptr;   ///< reachable mount, which a restore mounts again
};

void warnOfOther(const ProcSystem& system, Log& log) {
    constexpr std::string_view kNotTheTrees = "shows a pid namespace that is none of the tree's";
    constexpr std::string_view kUnknown = "may show a pid namespace that is none of the tree's";
    log.loss(Loss::Mounts, "{} {}; after a restore it will show that of the tree's root", system.seen->describe(),
             system.root ? kNotTheTrees : kUnknown);
}

/// Returns the device number of the sysfs that shows a process' network namespace; the kernel has one sysfs for each
/// network namespace. Returns nullopt if criu may not mount this sysfs.
std::optional<std::uint32_t> deviceIn(const SeenProcess& process) {
    const UniqueFd space = process.dir.open("ns/net", O_RDONLY);
    std::optional<std::uint32_t> device;
    kernel::runInThread([&] {
        try {
            sys(::setns(space.get(), CLONE_NEWNET), "enter the network namespace of {}", process.describe());
            const UniqueFd mounted = kernel::mountFileSystem({"sysfs", "sysfs", "", 0});
            struct stat status {};
            sys(::fstat(mounted.get(), &status), "look at a sysfs");
            device = kernel::kernelForm(status.st_dev);
        } catch (const Error& error) {
            if (error.code() != EPERM && error.code() != EACCES)
                throw;
        }
    });
    return device;
}

}  // namespace

files::TreeRoot::ProcMounts findProcMounts(SeenMounts& mounts, const SeenTree& tree, Log& log) {
    files::TreeRoot::ProcMounts found;
    std::map<std::uint32_t, ProcSystem> systems;
    for (const SeenMountSpace& space : mounts.spaces()) {
        const MountPaths paths(space.mounts);
        for (const Mount& mount : space.mounts.all()) {
            if (mount.kind.code != FSTYPE__PROC || mount.externalName || !(mount.isWhole() || isOfProcess(mount.root)))
                continue;
            ProcSystem& system = systems[mount.device];
            const bool reachable = paths.isReachable(mount);
            if (system.seen == nullptr && reachable && !mount.ofPlugin)
                system.seen = &mount;
            if (!mount.isWhole() || system.root)
                continue;
            system.whole = &mount;
            if (reachable)
                system.root = openReachable(space.root.get(), mount);
        }
    }
    const UniqueFd crius(sys(::open("/proc", O_PATH | O_CLOEXEC), "open /proc"));
    const std::uint32_t criusDevice = deviceOf(crius.get());
    std::set<int> covered;
    for (auto& [device, system] : systems) {
        if (!system.root && device == criusDevice)
            system.root = openBelow(crius.get(), "", O_PATH);
        else if (!system.root && system.whole != nullptr)
            covered.insert(system.whole->id);
    }
    for (auto& [id, fd] : mounts.openAll(covered))
        systems.at(deviceOf(fd.get())).root = std::move(fd);

    const SeenProcess& root = tree.root();
    const std::optional<std::uint32_t> ofRoot = root.ids.of(kernel::NamespaceKind::Pid);
    std::map<std::uint32_t, TreePid> firsts;
    std::set<std::uint32_t> others;
    for (const auto& [device, system] : systems) {
        std::optional<std::uint32_t> shown;
        // Tries process 1, then the root: if the pid namespace isn't private, criu may not inspect process 1.
        for (const pid_t process : {pid_t{1}, root.treePid.value})
            if (!shown && system.root)
                shown = namespaceOf(system.root.get(), process);
        if (const model::NestedPidNs* const below = shown ? tree.nested.find(*shown) : nullptr; below != nullptr)
            firsts.emplace(device, model::NestedPids::firstOf(*below));
        else if (shown == ofRoot)
            found.ofRoot.insert(device);
        else {
            others.insert(device);
            if (system.seen != nullptr)
                warnOfOther(system, log);
        }
    }
    // Adds criu's /proc, because the tree may have files of this proc open without having a mount of it.
    if (namespaceOf(crius.get(), ::getpid()) == ofRoot)
        found.ofRoot.insert(criusDevice);
    for (const Mount* const mount : mounts.all())
        if (others.contains(mount->device) && !mount->externalName && !mount->ofPlugin)
            found.others.insert(mount->id);
    if (tree.nested.empty())
        return found;
    for (Mount* const mount : mounts.all()) {
        if (mount->kind.code != FSTYPE__PROC || mount->externalName)
            continue;
        const auto system = systems.find(mount->device);
        if ((system == systems.end() || system->second.whole == nullptr) && mount->device != criusDevice)
            fail(
                "{} is a part of a proc file system of which no mount shows the whole, so it isn't known which pid "
                "namespace it is of",
                mount->describe());
        if (const auto first = firsts.find(mount->device); first != firsts.end())
            mount->pidsOf = first->second;
    }
    std::vector<const MountTree*> trees;
    for (const SeenMountSpace& space : mounts.spaces())
        trees.push_back(&space.mounts);
    requireExchangeable(trees);
    return found;
}

std::map<std::uint32_t, HostPid> findSysfsNetworks(const SeenMounts& mounts, const SeenTree& tree, Log& log) {
    std::map<std::uint32_t, HostPid> networks;
    std::map<std::uint32_t, const Mount*> systems;  // value: reachable mount of the sysfs; null if there is none
    for (const SeenMountSpace& space : mounts.spaces()) {
        const MountPaths paths(space.mounts);
        for (const Mount& mount : space.mounts.all()) {
            if (mount.kind.code != FSTYPE__SYSFS || mount.externalName || mount.ofPlugin)
                continue;
            const Mount*& seen = systems.emplace(mount.device, nullptr).first->second;
            if (seen == nullptr && paths.isReachable(mount))
                seen = &mount;
        }
    }
    if (systems.empty())
        return networks;
    const auto ofRoot = tree.root().ids.of(NamespaceKind::Net);
    std::set<std::uint32_t> looked;
    std::set<std::uint32_t> known;
    for (const SeenProcess& process : tree.processes) {
        const auto inode = process.ids.of(NamespaceKind::Net);
        if (!inode || !looked.insert(*inode).second)
            continue;
        const auto device = deviceIn(process);
        if (!device)
            return networks;
        known.insert(*device);
        if (inode != ofRoot)
            networks.emplace(*device, process.pid);
    }
    for (const auto& [device, seen] : systems)
        if (seen != nullptr && !known.contains(device))
            log.loss(Loss::Mounts,
                     "{} shows a network namespace that is none of the tree's; after a restore it will show that of "
                     "the tree's root",
                     seen->describe());
    return networks;
}

}  // namespace criu::namespaces
