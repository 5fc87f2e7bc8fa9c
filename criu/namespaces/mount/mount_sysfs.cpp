// SPDX-License-Identifier: GPL-2.0-only
// A sysfs shows the devices of the network namespace of the process that mounted it.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/namespaces/mount/mount_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Returns the device of the sysfs that shows a process' network namespace; the kernel has one for each. Returns
/// nothing if criu may not mount it.
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

void MountDump::noteNetworksOf(const SeenTree& tree) {
    std::map<std::uint32_t, const Mount*> systems;  // value: a reachable mount; null if there is none
    for (const Space& space : spaces_) {
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
        return;
    const auto ofRoot = tree.root().ids.of(NamespaceKind::Net);
    std::set<std::uint32_t> looked;
    std::set<std::uint32_t> known;
    for (const SeenProcess& process : tree.processes) {
        const auto inode = process.ids.of(NamespaceKind::Net);
        if (!inode || !looked.insert(*inode).second)
            continue;
        const auto device = deviceIn(process);
        if (!device)
            return;
        known.insert(*device);
        if (inode != ofRoot)
            networks_.emplace(*device, process.pid);
    }
    for (const auto& [device, seen] : systems)
        if (seen != nullptr && !known.contains(device))
            log_.warn(
                "{} shows a network namespace that is none of the tree's; after a restore it will show that of "
                "the tree's root",
                seen->describe());
}

}  // namespace criu::namespaces
