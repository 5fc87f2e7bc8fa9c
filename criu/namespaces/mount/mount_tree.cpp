// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_tree.hpp"

#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <map>

#include "criu/base/error.hpp"
#include "criu/kernel/device_number.hpp"

namespace criu::namespaces {
namespace {

constexpr std::string_view kDeletedRoot = "//deleted";

/// Type of overlays. A restore mounts them after the other mounts of the tree (Mount::isOverlay()). Their options name
/// directories by paths, and these paths lead to criu's directories until the tree's root is the root directory.
constexpr std::string_view kOverlay = "overlay";

constexpr std::array kFsKinds{
    FsKind{"proc", FSTYPE__PROC, FsContent::View},
    FsKind{"sysfs", FSTYPE__SYSFS, FsContent::View},
    FsKind{"devtmpfs", FSTYPE__DEVTMPFS, FsContent::Kernel},
    FsKind{"binfmt_misc", FSTYPE__BINFMT_MISC, FsContent::Kernel},
    FsKind{"tmpfs", FSTYPE__TMPFS, FsContent::Files},
    FsKind{"devpts", FSTYPE__DEVPTS, FsContent::View},
    FsKind{"simfs", FSTYPE__SIMFS, FsContent::Unknown},
    FsKind{"pstore", FSTYPE__PSTORE, FsContent::Kernel},
    FsKind{"securityfs", FSTYPE__SECURITYFS, FsContent::Kernel},
    FsKind{"fusectl", FSTYPE__FUSECTL, FsContent::Kernel},
    FsKind{"debugfs", FSTYPE__DEBUGFS, FsContent::Kernel},
    FsKind{"tracefs", FSTYPE__TRACEFS, FsContent::Kernel},
    FsKind{"cgroup", FSTYPE__CGROUP, FsContent::View},
    FsKind{"cgroup2", FSTYPE__CGROUP2, FsContent::View},
    FsKind{"mqueue", FSTYPE__MQUEUE, FsContent::View},
    FsKind{kOverlay, FSTYPE__OVERLAYFS, FsContent::Unknown},
    FsKind{"autofs", FSTYPE__AUTOFS, FsContent::Daemon},
    FsKind{"aufs", FSTYPE__AUFS, FsContent::Unknown},
    FsKind{"fuse", FSTYPE__FUSE, FsContent::Unknown},
    // Images identify the file system types below by name, because they have no number.
    FsKind{"configfs", FSTYPE__AUTO, FsContent::Kernel},
    FsKind{"efivarfs", FSTYPE__AUTO, FsContent::Kernel},
    FsKind{"selinuxfs", FSTYPE__AUTO, FsContent::Kernel},
    FsKind{"hugetlbfs", FSTYPE__AUTO, FsContent::View, true},
    FsKind{"bpf", FSTYPE__AUTO, FsContent::View, true},
};

std::string_view withoutSubtype(std::string_view type) {
    return type.substr(0, type.find('.'));
}

/// Removes super block flags from the front of the file system's options in mountinfo, and sets mount.superFlags.
void splitSuperOptions(std::string_view text, Mount& mount) {
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view option = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (option == "rw" || option == "seclabel")
            continue;
        const std::uint64_t flag = kernel::mountFlags(option) & (MS_RDONLY | MS_SYNCHRONOUS | MS_DIRSYNC | MS_LAZYTIME);
        if (flag != 0) {
            mount.superFlags |= flag;
            continue;
        }
        if (!mount.options.empty())
            mount.options += ',';
        mount.options += option;
    }
}

std::ptrdiff_t depthOf(std::string_view path) {
    return path == "/" ? 0 : std::count(path.begin(), path.end(), '/');
}

}  // namespace

FsKind fsKindOf(std::string_view fsType, std::span<const std::string> enabled) {
    const std::string_view type = withoutSubtype(fsType);
    const auto* const known =
        std::find_if(kFsKinds.begin(), kFsKinds.end(), [&](const FsKind& kind) { return kind.name == type; });
    if (known != kFsKinds.end() && known->content != FsContent::Unknown)
        return *known;
    const bool wanted = type != kOverlay && std::any_of(enabled.begin(), enabled.end(), [&](const std::string& name) {
                            return name == "all" || name == type;
                        });
    if (wanted)
        return {{}, FSTYPE__AUTO, FsContent::Storage};
    return {{}, known != kFsKinds.end() ? known->code : FSTYPE__UNSUPPORTED, FsContent::Unknown};
}

bool Mount::covers(const Mount& other) const noexcept {
    return device == other.device && !rootDeleted && pathBelow(root, other.root).has_value();
}

std::string Mount::describe() const {
    return fmt::format("{} ({}, mount {})", mountPoint, fsType, id);
}

std::optional<std::string> pathBelow(std::string_view base, std::string_view path) {
    if (base == "/")
        base = {};
    if (!path.starts_with(base))
        return std::nullopt;
    path.remove_prefix(base.size());
    if (!path.empty() && path.front() != '/')
        return std::nullopt;
    while (path.starts_with('/'))
        path.remove_prefix(1);
    return std::string(path);
}

bool isAboveRoot(std::string_view path) {
    path.remove_prefix(path.starts_with('/') ? 1 : 0);
    return path == ".." || path.starts_with("../");
}

MountTree MountTree::fromKernel(const kernel::MountTable& table, std::span<const std::string> enabledFileSystems) {
    std::vector<Mount> mounts;
    for (const kernel::MountInfo& info : table.all()) {
        Mount mount;
        mount.id = info.id;
        mount.parentId = info.parentId;
        mount.fsType = info.fsType;
        mount.kind = fsKindOf(info.fsType, enabledFileSystems);
        mount.device = info.devMajor << kernel::kMinorBits | info.devMinor;
        mount.root = info.root;
        if (mount.root.ends_with(kDeletedRoot)) {
            mount.root.resize(mount.root.size() - kDeletedRoot.size());
            mount.rootDeleted = true;
        }
        mount.mountPoint = info.mountPoint;
        mount.flags = info.flags;
        if ((mount.flags & (MS_RELATIME | MS_NOATIME)) == 0)
            mount.flags |= MS_STRICTATIME;  // the kernel doesn't show this flag
        mount.source = info.source;
        splitSuperOptions(info.superOptions, mount);
        mount.shared = info.shared;
        mount.master = info.master;
        mount.unbindable = info.unbindable;
        mounts.push_back(std::move(mount));
    }
    return MountTree(std::move(mounts));
}

MountTree MountTree::fromImage(std::span<const MntEntry* const> entries, std::span<const std::string> enabled) {
    std::vector<Mount> mounts;
    for (const MntEntry* const entry : entries) {
        Mount mount;
        mount.id = static_cast<int>(entry->mnt_id);
        mount.parentId = static_cast<int>(entry->parent_mnt_id);
        const auto* const known = std::find_if(kFsKinds.begin(), kFsKinds.end(), [&](const FsKind& kind) {
            return kind.code == entry->fstype && kind.code != FSTYPE__AUTO;
        });
        if (entry->fsname != nullptr)
            mount.fsType = entry->fsname;
        else if (known != kFsKinds.end())
            mount.fsType = known->name;
        mount.kind = fsKindOf(mount.fsType, enabled);
        mount.device = entry->root_dev;
        mount.root = entry->root;
        mount.rootDeleted = entry->has_deleted != 0 && entry->deleted != 0;
        mount.mountPoint = fmt::format("{}{}", entry->mountpoint[0] == '/' ? "" : "/", entry->mountpoint);
        mount.flags = entry->flags & ~std::uint32_t{MS_SHARED | MS_SLAVE | MS_UNBINDABLE | MS_PRIVATE};
        mount.unbindable = (entry->flags & MS_UNBINDABLE) != 0;
        if (entry->has_sb_flags != 0)
            mount.superFlags = entry->sb_flags;
        mount.source = entry->source;
        mount.options = entry->options;
        mount.shared = static_cast<int>(entry->shared_id);
        mount.master = static_cast<int>(entry->master_id);
        if (entry->ext_key != nullptr)
            mount.externalName = entry->ext_key;
        else if (entry->has_ext_mount != 0 && entry->ext_mount != 0)
            mount.externalName = entry->root;  // older images have no ext_key
        mount.sharedInsideOnly = entry->has_internal_sharing != 0 && entry->internal_sharing != 0;
        if (entry->has_pids_of != 0)
            mount.pidsOf = TreePid(static_cast<pid_t>(entry->pids_of));
        mount.networkOf = entry->has_network_of != 0 ? entry->network_of : 0;
        mount.ofPlugin = entry->has_with_plugin != 0 && entry->with_plugin != 0;
        for (const std::string& path : {mount.root, mount.mountPoint})
            if (!mount.externalName && (path + '/').find("/../") != std::string::npos)
                fail("mount {} has an impossible path, {}", mount.id, path);
        if ((mount.mountPoint + '/').find("/../") != std::string::npos)
            fail("mount {} has an impossible mount point, {}", mount.id, mount.mountPoint);
        mounts.push_back(std::move(mount));
    }
    return MountTree(std::move(mounts));
}

MountTree::MountTree(std::vector<Mount> mounts) : mounts_(std::move(mounts)) {
    sort();
}

/// Sorts the mounts from the root down: each parent precedes its children.
void MountTree::sort() {
    std::map<int, std::vector<Mount*>> children;
    std::map<int, const Mount*> byId;
    for (Mount& mount : mounts_)
        if (!byId.emplace(mount.id, &mount).second)
            fail("two mounts have the number {}", mount.id);
    std::vector<Mount*> order;
    for (Mount& mount : mounts_) {
        if (mount.parentId != mount.id && byId.contains(mount.parentId)) {
            children[mount.parentId].push_back(&mount);
            continue;
        }
        if (!order.empty())
            fail("two mounts have no parent: {} and {}", order.front()->describe(), mount.describe());
        order.push_back(&mount);
    }
    if (order.empty())
        fail("none of {} mounts is the root of the others", mounts_.size());
    for (std::size_t at = 0; at < order.size(); ++at)
        if (const auto found = children.find(order[at]->id); found != children.end())
            order.insert(order.end(), found->second.begin(), found->second.end());
    if (order.size() != mounts_.size())
        fail("{} of {} mounts don't belong to the tree of the root", mounts_.size() - order.size(), mounts_.size());
    std::vector<Mount> sorted;
    sorted.reserve(order.size());
    for (Mount* const mount : order)
        sorted.push_back(std::move(*mount));
    mounts_ = std::move(sorted);
    mounts_.front().isTop = true;
    index();
}

std::set<int> MountTree::takeOut(const std::function<bool(const Mount&)>& unwanted) {
    std::map<int, int> parents;  // key: removed mount; value: its parent
    std::set<int> needed;
    for (auto at = mounts_.rbegin(); at != mounts_.rend(); ++at) {
        if (!isRoot(*at) && !needed.contains(at->id) && unwanted(*at)) {
            parents.emplace(at->id, at->parentId);
        } else if (const Mount* const parent = find(at->parentId);
                   parent != nullptr && parent->mountPoint != at->mountPoint) {
            needed.insert(parent->id);
        }
    }
    std::set<int> ids;
    for (Mount& mount : mounts_)
        for (auto parent = parents.find(mount.parentId); parent != parents.end(); parent = parents.find(mount.parentId))
            mount.parentId = parent->second;
    std::erase_if(mounts_, [&](const Mount& mount) { return parents.contains(mount.id); });
    for (const auto& [id, parent] : parents)
        ids.insert(id);
    index();
    return ids;
}

void MountTree::index() {
    byId_.clear();
    for (std::size_t at = 0; at < mounts_.size(); ++at)
        byId_.emplace(mounts_[at].id, at);
}

const Mount* MountTree::find(int id) const noexcept {
    const auto found = byId_.find(id);
    return found == byId_.end() ? nullptr : &mounts_[found->second];
}

std::map<int, std::vector<const Mount*>> MountTree::children() const {
    std::map<int, std::vector<const Mount*>> all;
    for (const Mount& mount : mounts_)
        if (!isRoot(mount))
            all[mount.parentId].push_back(&mount);
    // Deeper mount points come first, because a mount on a directory covers all mount points below this directory.
    for (auto& [parent, children] : all)
        std::stable_sort(children.begin(), children.end(), [](const Mount* one, const Mount* other) {
            return depthOf(one->mountPoint) > depthOf(other->mountPoint);
        });
    return all;
}

void MountTree::remove(const std::function<bool(const Mount&)>& unwanted) {
    std::set<int> gone;
    for (const Mount& mount : mounts_)
        if (!isRoot(mount) && (gone.contains(mount.parentId) || unwanted(mount)))
            gone.insert(mount.id);
    std::erase_if(mounts_, [&](const Mount& mount) { return gone.contains(mount.id); });
    index();
}

MountPaths::MountPaths(const MountTree& tree) : root_(tree.root()) {
    for (const Mount& mount : tree.all())
        if (!tree.isRoot(mount))
            if (const Mount*& place = places_.make(static_cast<std::uint64_t>(mount.parentId), mount.mountPoint);
                place == nullptr)
                place = &mount;
}

const Mount& MountPaths::lookUp(std::string_view path) const {
    const Mount* at = &root_;
    const std::vector<PathPrefix> prefixes = prefixesOf(path);
    // Follows the mount nearest to the root first. A mount that lies on it has the same mount point or a deeper one.
    for (auto prefix = prefixes.begin(); prefix != prefixes.end();) {
        const auto* const found = places_.find(static_cast<std::uint64_t>(at->id), path, *prefix);
        if (found != nullptr)
            at = *found;
        else
            ++prefix;
    }
    return *at;
}

MntEntry* entryOf(const Mount& mount, Arena& arena) {
    auto& entry = *arena.make<MntEntry>();
    entry.fstype = mount.kind.code;
    if (mount.kind.code == FSTYPE__AUTO)
        entry.fsname = arena.string(mount.fsType);
    entry.mnt_id = static_cast<std::uint32_t>(mount.id);
    entry.root_dev = mount.device;
    entry.parent_mnt_id = static_cast<std::uint32_t>(mount.parentId);
    entry.flags = static_cast<std::uint32_t>(mount.flags);
    if (mount.shared != 0)
        entry.flags |= MS_SHARED;
    if (mount.master != 0)
        entry.flags |= MS_SLAVE;
    if (mount.unbindable)
        entry.flags |= MS_UNBINDABLE;
    entry.has_sb_flags = 1;
    entry.sb_flags = static_cast<std::uint32_t>(mount.superFlags);
    entry.root = arena.string(mount.root);
    entry.mountpoint = arena.string(mount.mountPoint);
    entry.source = arena.string(mount.source);
    entry.options = arena.string(mount.options);
    entry.has_shared_id = 1;
    entry.shared_id = static_cast<std::uint32_t>(mount.shared);
    entry.has_master_id = 1;
    entry.master_id = static_cast<std::uint32_t>(mount.master);
    if (mount.rootDeleted)
        entry.has_deleted = entry.deleted = 1;
    if (mount.sharedInsideOnly)
        entry.has_internal_sharing = entry.internal_sharing = 1;
    if (mount.ofPlugin)
        entry.has_with_plugin = entry.with_plugin = 1;
    if (mount.externalName)
        entry.ext_key = arena.string(*mount.externalName);
    if (mount.pidsOf) {
        entry.has_pids_of = 1;
        entry.pids_of = static_cast<std::uint32_t>(mount.pidsOf.value);
    }
    return &entry;
}

std::size_t endOfMountOption(std::string_view options) noexcept {
    bool quoted = false;
    for (std::size_t at = 0; at < options.size(); ++at) {
        if (options[at] == '"')
            quoted = !quoted;
        else if (options[at] == ',' && !quoted)
            return at;
    }
    return options.size();
}

std::string withMountContext(std::string_view options, std::string_view context) {
    constexpr std::string_view kContext = "context=";
    std::string all;
    while (!options.empty()) {
        const std::size_t end = endOfMountOption(options);
        const std::string_view option = options.substr(0, end);
        options.remove_prefix(std::min(end + 1, options.size()));
        all += all.empty() ? "" : ",";
        if (option.starts_with(kContext))
            all += fmt::format("{}\"{}\"", kContext, context);
        else
            all += option;
    }
    return all;
}

}  // namespace criu::namespaces
