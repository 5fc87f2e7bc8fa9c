// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/external_mounts.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/namespaces/mount/seen_mounts.hpp"

namespace criu::namespaces {
namespace {

using model::External;
using model::ExternalType;

/// Search for mounts of the tree that criu's mount namespace also has.
class MountOrigins {
public:
    MountOrigins(SeenMounts& mounts, const ExternalMounts& externals, Log& log)
        : mounts_(mounts), externals_(externals), log_(log) {}

    /// Implements markExternalMounts().
    bool mark(const MountPlugins& plugins);

private:
    void makePartsWhole(const MountTree& outside, const MountPlugins& plugins);
    void takeOutCovered(SeenMountSpace& space, const MountTree& outside) const;
    bool matchOutside(Mount& mount, const MountPaths& paths, std::span<const Mount* const> outside) const;

    SeenMounts& mounts_;
    const ExternalMounts& externals_;
    Log& log_;
};

bool MountOrigins::mark(const MountPlugins& plugins) {
    const MountTree outside = MountTree::fromKernel(mounts_.criusMounts(), {});
    const MountPaths paths(outside);
    std::map<std::uint32_t, std::vector<const Mount*>> reachable;
    const bool automatic = mounts_.withCriu() || externals_.automatic();
    if (automatic)
        for (const Mount& mount : outside.all())
            if (paths.isReachable(mount))
                reachable[mount.device].push_back(&mount);
    for (Mount* const each : mounts_.all()) {
        Mount& mount = *each;
        if (mount.isTop && !mounts_.withCriu())
            continue;
        // Only the root's namespace is considered, because --external names mount points of this namespace.
        if (auto name = externals_.find(mount.mountPoint);
            name && mounts_.spaces().front().mounts.find(mount.id) != nullptr) {
            mount.externalName = std::move(name);
            continue;
        }
        const dev_t device = kernel::deviceOf(mount.device);
        const auto deviceName = externals_.findDevice(fmt::format("{}/{}", major(device), minor(device)));
        if (deviceName && mount.kind.content == FsContent::Unknown && mount.isWhole()) {
            mount.externalName = kFromDevice;
            mount.source = fmt::format("dev[{}]", *deviceName);
            mount.kind.code = FSTYPE__AUTO;
            continue;
        }
        if (automatic && matchOutside(mount, paths, reachable[mount.device]))
            mount.externalName = kFoundByItself;
    }
    if (mounts_.withCriu())
        for (SeenMountSpace& space : mounts_.spaces())
            takeOutCovered(space, outside);
    makePartsWhole(outside, plugins);
    return std::any_of(outside.all().begin(), outside.all().end(),
                       [&](const Mount& mount) { return mounts_.isOnRoot(mount); });
}

/// Handles a file system in memory of which the tree reaches only one directory: all its mounts show this directory or
/// parts of it. Changes the mounts as if this directory were the root of the file system. Sandboxes have such mounts
/// after pivot_root(2), and no process can reach files outside of this directory. Asks plugins first whether they take
/// the mount.
void MountOrigins::makePartsWhole(const MountTree& outside, const MountPlugins& plugins) {
    std::map<std::uint32_t, std::vector<Mount*>> parts;
    for (Mount* const mount : mounts_.all())
        parts[mount->device].push_back(mount);
    for (const Mount& mount : outside.all())
        parts.erase(mount.device);
    for (auto& [device, mounts] : parts) {
        const auto shortest = std::min_element(mounts.begin(), mounts.end(), [](const Mount* one, const Mount* other) {
            return one->root.size() < other->root.size();
        });
        const std::string base = (*shortest)->root;
        const auto isPart = [&](const Mount* mount) {
            return mount->kind.content == FsContent::Files && !mount->externalName && !mounts_.isOnRoot(*mount) &&
                   pathBelow(base, mount->root);
        };
        if ((*shortest)->isWhole() || (*shortest)->rootDeleted || !std::all_of(mounts.begin(), mounts.end(), isPart))
            continue;
        struct stat status {};
        const std::map<int, UniqueFd> opened = mounts_.openAll({(*shortest)->id});
        sys(::fstat(opened.at((*shortest)->id).get(), &status), "look at {}", (*shortest)->describe());
        if (!S_ISDIR(status.st_mode))
            continue;
        if (!mounts_.isRoot(**shortest) && plugins((*shortest)->mountPoint, (*shortest)->id)) {
            (*shortest)->ofPlugin = true;
            continue;
        }
        log_.info("Of the file system of {} only {} can be reached: that is dumped as the whole",
                  (*shortest)->describe(), base);
        for (Mount* const mount : mounts)
            mount->root = '/' + *pathBelow(base, mount->root);
    }
}

/// Removes covered mounts from `space` if criu's namespace has mounts of the same file system. If the kernel has locked
/// the covering mounts for another user namespace, the tree can't reach the removed ones.
void MountOrigins::takeOutCovered(SeenMountSpace& space, const MountTree& outside) const {
    std::set<std::uint32_t> devices;
    for (const Mount& mount : outside.all())
        devices.insert(mount.device);
    std::set<int> covered;
    {
        const MountPaths paths(space.mounts);
        for (const Mount& mount : space.mounts.all())
            if (!paths.isReachable(mount) && !mount.externalName && devices.contains(mount.device))
                covered.insert(mount.id);
    }
    std::map<int, std::string> names;
    for (const int id : covered)
        names.emplace(id, space.mounts.find(id)->describe());
    const std::set<int> out = space.takeOut(covered);
    if (out.empty())
        return;
    if (kernel::foreignOwnerUserns(space.fd.get()))
        log_.info("Mount namespace {}: {} mounts that are covered outside, too, aren't dumped", space.number,
                  out.size());
    else  // the tree could unmount the covering mounts, and would then miss the removed ones
        log_.loss(
            Loss::Mounts,
            "{} mounts of mount namespace {} are covered, as they are outside, and aren't dumped: {} is one. After a "
            "restore they aren't there when what covers them is taken off",
            out.size(), space.number, names.at(*out.begin()));
}

/// Returns true if events of the outside mount reach `mount` (mount_namespaces(7), propagation).
bool getsEventsOf(const Mount& mount, const Mount& outside) noexcept {
    return (mount.shared != 0 && mount.shared == outside.shared) ||
           (mount.master != 0 && (mount.master == outside.shared || mount.master == outside.master));
}

/// Searches a mount of criu's namespace that shows the directory of `mount`. If there is one, stores the path of the
/// directory as the source of `mount` and returns true. `outside`: reachable mounts of this file system in criu's
/// namespace.
bool MountOrigins::matchOutside(Mount& mount, const MountPaths& paths, std::span<const Mount* const> outside) const {
    // Prefers a mount whose events reach `mount`, because only its clone gets these events; then the shortest path
    // below.
    const auto rank = [&mount](const Mount& other) { return std::pair(getsEventsOf(mount, other), other.root.size()); };
    const Mount* best = nullptr;
    std::string source;
    for (const Mount* const other : outside) {
        if (!other->covers(mount) || (best != nullptr && rank(*other) <= rank(*best)))
            continue;
        const std::string below = *pathBelow(other->root, mount.root);
        // A cgroup below the other mount's root may be missing when a restore looks up this source, because the restore
        // creates cgroups later.
        const bool ofGroups = mount.kind.code == FSTYPE__CGROUP || mount.kind.code == FSTYPE__CGROUP2;
        const bool made = ofGroups && mount.shared == 0 && mount.master == 0;
        if (isAboveRoot(below) || (made && !below.empty()))
            continue;
        std::string path = below.empty()
                               ? other->mountPoint
                               : fmt::format("{}/{}", other->mountPoint == "/" ? "" : other->mountPoint, below);
        // Checks that no other mount covers the path.
        if (&paths.lookUp(path) != other)
            continue;
        best = other;
        source = std::move(path);
    }
    if (best == nullptr || mount.rootDeleted)
        return false;
    // If the root is in criu's namespace, all mounts get the mount events of criu's namespace in any case.
    const bool together = mounts_.withCriu();
    if (mount.shared != 0 && !together && !externals_.withSharing())
        return false;
    if (mount.master != 0 &&
        ((!together && !externals_.withMasters()) || (mount.master != best->shared && mount.master != best->master)))
        return false;
    mount.sharedInsideOnly = mount.shared != 0 && mount.shared != best->shared;
    mount.source = std::move(source);
    log_.info("{} is {} outside", mount.describe(), mount.source);
    return true;
}

}  // namespace

std::optional<std::string> ExternalMounts::find(std::string_view key) const {
    for (const External& external : options_.externals)
        if (external.type == ExternalType::Mount && !external.id.empty() && external.id == key)
            return external.value.value_or(external.id);
    for (const model::ExtMount& mount : options_.extMounts)
        if (mount.key == key)
            return mount.value;
    return std::nullopt;
}

std::optional<std::string> ExternalMounts::findDevice(std::string_view key) const {
    for (const External& external : options_.externals)
        if (external.type == ExternalType::Device && external.id == key)
            return external.value;
    return std::nullopt;
}

bool ExternalMounts::automatic() const {
    return options_.autoExtMounts ||
           std::any_of(options_.externals.begin(), options_.externals.end(), [](const External& external) {
               return external.type == ExternalType::Mount && external.id.empty();
           });
}

bool ExternalMounts::automaticWith(char flag) const {
    return std::any_of(options_.externals.begin(), options_.externals.end(), [flag](const External& external) {
        return external.type == ExternalType::Mount && external.id.empty() &&
               external.value.value_or("").find(flag) != std::string::npos;
    });
}

bool ExternalMounts::withSharing() const {
    return options_.externalSharing || automaticWith('s');
}

bool ExternalMounts::withMasters() const {
    return options_.externalMasters || automaticWith('m');
}

bool markExternalMounts(SeenMounts& mounts, const ExternalMounts& externals, const MountPlugins& plugins, Log& log) {
    return MountOrigins(mounts, externals, log).mark(plugins);
}

}  // namespace criu::namespaces
