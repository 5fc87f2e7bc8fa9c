// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_images.hpp"

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"

namespace criu::namespaces {
namespace {

MountImages::Space read(const ImageDir& images, std::uint32_t number, const model::Options& options) {
    MountImages::Space space;
    space.number = number;
    ImageReader image = images.openRequired(ImageKind::Mountpoints, number);
    const std::string name = image.name();
    space.entries = image.all<MntEntry>();
    std::vector<const MntEntry*> entries;
    for (const auto& entry : space.entries)
        entries.push_back(entry.get());
    if (entries.empty())
        fail("{} has no mounts", name);
    const ErrorContext context([&] { return name; });
    space.mounts = MountTree::fromImage(entries, options.enabledFilesystems);
    return space;
}

}  // namespace

MountImages::MountImages(const ImageDir& images, std::uint32_t ofFirst, std::span<const std::uint32_t> others,
                         const model::Options& options)
    : hasMain_(ofFirst != 0) {
    if (hasMain_)
        spaces_.push_back(read(images, ofFirst, options));
    for (const std::uint32_t number : others)
        spaces_.push_back(read(images, number, options));
    if (hasMain_)
        takeTerminals();
    index();
    requireSources();
}

/// Removes mounts of single terminals from the mounts that the restore attaches early. The file of a terminal exists
/// only while a process has the terminal open. So criu creates such a mount after the processes' files.
void MountImages::takeTerminals() {
    MountTree& tree = spaces_.front().mounts;
    // Mount points of devpts mounts that show the complete file system and to which a path leads; the key is the device
    // number.
    std::map<std::uint32_t, std::string> devpts;
    {
        const MountPaths paths(tree);
        for (const Mount& mount : tree.all())
            if (mount.kind.code == FSTYPE__DEVPTS && mount.isWhole() && paths.isReachable(mount))
                devpts.try_emplace(mount.device, mount.mountPoint);
    }
    std::set<int> late;
    for (const Mount& mount : tree.all()) {
        if (mount.kind.code != FSTYPE__DEVPTS || mount.isWhole() || mount.externalName || mount.shared != 0 ||
            mount.master != 0 || mount.root == "/ptmx")
            continue;
        if (const auto found = devpts.find(mount.device); found != devpts.end()) {
            late.insert(mount.id);
            terminals_.push_back({found->second + mount.root, mount.mountPoint, mount.flags});
        }
    }
    tree.remove([&](const Mount& mount) { return late.contains(mount.id); });
}

void MountImages::index() {
    for (const Space& space : spaces_) {
        for (const Mount& mount : space.mounts.all()) {
            if (!byId_.try_emplace(mount.id, &mount, &space).second)
                fail("two mounts have the number {}", mount.id);
            all_.push_back(&mount);
            if (mount.shared != 0)
                groups_.insert(mount.shared);
        }
        for (const auto& entry : space.entries)
            if (find(static_cast<int>(entry->mnt_id)) != nullptr)
                entries_[entry->root_dev].push_back(entry.get());
    }
}

void MountImages::requireSources() const {
    for (const Mount* const mount : all_)
        if (!isRoot(*mount) && !mount->externalName && !mount->ofPlugin && mount->isWhole() &&
            mount->kind.content == FsContent::Unknown && !mount->isOverlay() &&
            !(hasMain_ && mount->device == main()->mounts.root().device)) {
            Error error(0, fmt::format("{} is of a file system that a restore can't mount", mount->describe()));
            error.addHint("have it mounted with --enable-fs");
            throw error;
        }
}

const Mount* MountImages::find(int id) const {
    const auto found = byId_.find(id);
    return found != byId_.end() ? found->second.first : nullptr;
}

const MountImages::Space* MountImages::spaceOf(int id) const {
    const auto found = byId_.find(id);
    return found != byId_.end() ? found->second.second : nullptr;
}

const MntEntry& MountImages::entryOf(const Mount& mount) const {
    for (const MntEntry* const entry : entriesOn(mount.device))
        if (static_cast<int>(entry->mnt_id) == mount.id)
            return *entry;
    fail("the images have no mount {}", mount.id);
}

std::span<const MntEntry* const> MountImages::entriesOn(std::uint32_t device) const {
    const auto found = entries_.find(device);
    return found != entries_.end() ? std::span<const MntEntry* const>(found->second)
                                   : std::span<const MntEntry* const>();
}

}  // namespace criu::namespaces
