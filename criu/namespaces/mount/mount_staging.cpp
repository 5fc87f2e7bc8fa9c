// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_staging.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount/file_contents.hpp"
#include "criu/namespaces/mount/mount_dump.hpp"
#include "criu/namespaces/mount/outside_mounts.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::namespaces {
namespace {

/// Returns `options` without the options for which `unwanted` returns true.
std::string withoutOptions(std::string_view options, const std::function<bool(std::string_view)>& unwanted) {
    std::string left;
    while (!options.empty()) {
        const std::size_t comma = endOfMountOption(options);
        const std::string_view option = options.substr(0, comma);
        options.remove_prefix(std::min(comma + 1, options.size()));
        if (!unwanted(option))
            left += fmt::format("{}{}", left.empty() ? "" : ",", option);
    }
    return left;
}

/// Returns the options of criu's cgroup2 mount, or an empty text if there is none.
std::string presentCgroupOptions() {
    kernel::ProcBuffer buffer;
    const kernel::MountTable mounts = kernel::readMountInfo(kernel::ProcDir().self(), buffer);
    for (const kernel::MountInfo& mount : mounts.all())
        if (mount.fsType == "cgroup2")
            return withoutOptions(mount.superOptions,
                                  [](std::string_view option) { return option == "rw" || option == "ro"; });
    return {};
}

bool isOnDirectory(int fd) {
    struct stat stat {};
    sys(::fstat(fd, &stat), "stat a mount");
    return S_ISDIR(stat.st_mode);
}

}  // namespace

MountStaging::MountStaging(const MountImages& mounts, const RestoreInputs& inputs, const MountHelpers& helpers)
    : mounts_(mounts),
      images_(inputs.images),
      pages_(inputs.pages),
      options_(inputs.options),
      helpers_(helpers),
      nsContext_(inputs.nsContext),
      automounts_(inputs.images, mounts, inputs.tree) {
    // Loads the library now. Later, when archives are unpacked, the library's path may lead to a file of the tree.
    const auto all = mounts_.all();
    if (std::any_of(all.begin(), all.end(), [this](const Mount* mount) { return hasContent(*mount); }))
        archives_.emplace();
    countFiles(inputs);
}

/// Adds all files that the restore creates in file systems to the amounts of the restore. Throws Error if these exceed
/// their limits.
void MountStaging::countFiles(const RestoreInputs& inputs) const {
    std::set<std::uint32_t> counted;
    for (const Mount* const mount : mounts_.all()) {
        const MntEntry& entry = mounts_.entryOf(*mount);
        const ErrorContext context([&] { return mount->describe(); });
        if (entry.deleted_file != nullptr)
            inputs.addFile(entry.deleted_file->content.len);
        if (!hasContent(*mount))
            continue;
        for (std::size_t at = 0; at < entry.n_sockets; ++at)
            inputs.addFile(0);
        if (!counted.insert(mount->device).second)
            continue;
        archives_.value().forEachFile(openContent(*mount).value().get(), formOfFiles(), [&inputs](std::uint64_t bytes) {
            inputs.checkStop();
            inputs.addFile(bytes);
        });
        if (const auto pages = pages_.open(memory::MemoryObject::files(mount->device))) {
            std::uint64_t bytes = 0;
            pages->addPresentBytes(bytes);
            inputs.addMemory(bytes);
        }
    }
}

void MountStaging::openOutside(kernel::FdStore& store) {
    cgroupOptions_ = presentCgroupOptions();
    automounts_.openDevice(store);
    for (const Mount* const mount : mounts_.all()) {
        const ErrorContext context([&] { return mount->describe(); });
        if (UniqueFd fd = openOutsideMount(*mount, mounts_, images_, options_); fd)
            outside_[mount->id] = store.inherit(kernel::FdKey::Mount, std::move(fd));
    }
}

void MountStaging::makeAll() {
    // Mounts the staging over "/", because it then needs no mount point.
    staging_ = kernel::mountFileSystem({"tmpfs", "criu", "mode=700", 0});
    kernel::attachMount(staging_.get(), openRootDirectory().get());
    sources_.emplace(mounts_.all(),
                     [this](const Mount& mount) { return mounts_.isRoot(mount) || outside_.contains(mount.id); });
    // Sorts mounts by the depth of their root. Sources then usually precede the mounts that are cloned from them, so
    // that few mounts must wait.
    std::map<std::size_t, std::vector<const Mount*>> byDepth;
    for (const Mount* const mount : mounts_.all())
        byDepth[prefixesOf(mount->root).size()].push_back(mount);
    for (const auto& [depth, mounts] : byDepth)
        waiting_.insert(waiting_.end(), mounts.begin(), mounts.end());
    makePossible();
}

/// Creates all mounts whose sources exist. Repeats this until a pass creates no mount.
void MountStaging::makePossible() {
    std::size_t before = 0;
    do {
        before = waiting_.size();
        std::erase_if(waiting_, [&](const Mount* mount) {
            const ErrorContext context([&] { return mount->describe(); });
            return make(*mount);
        });
    } while (waiting_.size() != before);
}

void MountStaging::requireAll() const {
    if (!waiting_.empty())
        fail("{}: nothing is there to mount {} from", waiting_.front()->describe(), waiting_.front()->root);
}

void MountStaging::add(const Mount& overlay, UniqueFd fd) {
    place(overlay, std::move(fd));
    std::erase(waiting_, &overlay);
    makePossible();
}

/// Creates a mount. Returns false if its source doesn't exist yet.
bool MountStaging::make(const Mount& mount) {
    if (mount.ofPlugin && !outside_.contains(mount.id))
        return makeByPlugin(mount);
    UniqueFd fd;
    if (const auto found = outside_.find(mount.id); found != outside_.end())
        fd = takeOutside(mount, std::move(found->second));
    else
        fd = makeInside(mount);
    if (!fd)
        return false;
    place(mount, std::move(fd));
    return true;
}

/// Attaches a mount below the mount staging.
void MountStaging::place(const Mount& mount, UniqueFd fd) {
    const std::string name = makePlace(std::to_string(mount.id), isOnDirectory(fd.get()));
    kernel::attachMountBelow(fd.get(), staging_.get(), name);
    kernel::setMountFlags(fd.get(), mount.flags & ~std::uint64_t{MS_RDONLY});
    noteMade(mount, std::move(fd));
}

void MountStaging::noteMade(const Mount& mount, UniqueFd fd) {
    made_[mount.id] = std::move(fd);
    sources_->noteMade(mount);
}

/// Prepares an external mount. `fd`: clone of its source.
UniqueFd MountStaging::takeOutside(const Mount& mount, UniqueFd fd) {
    // Only a mount that was a peer of its source at the dump stays its peer.
    const bool peer = mount.externalName == kFoundByItself && !mount.sharedInsideOnly && mount.shared != 0;
    const bool slave = mount.master != 0 && !mounts_.hasGroup(mount.master);
    // If other mounts were mounted on a peer, they would also appear outside of the tree. So criu uses a private clone.
    // The clone joins the peer group after all mounts are attached.
    if (peer) {
        const std::string outer = makePlace(fmt::format("outer-{}", mount.id), isOnDirectory(fd.get()));
        kernel::attachMountBelow(fd.get(), staging_.get(), outer);
        UniqueFd inner = kernel::cloneMount(fd.get());
        outer_[mount.id] = std::exchange(fd, std::move(inner));
    }
    kernel::setPropagation(fd.get(), slave && !peer ? MS_SLAVE : MS_PRIVATE);
    return fd;
}

/// Makes a plugin create a mount. Returns false if the mount point doesn't exist yet.
bool MountStaging::makeByPlugin(const Mount& mount) {
    const Mount* const parent = mounts_.find(mount.parentId);
    const auto under = made_.find(mount.parentId);
    if (parent == nullptr || under == made_.end())
        return false;
    struct stat stat {};
    const auto below = pathBelow(parent->mountPoint, mount.mountPoint);
    if (!below)
        fail("it doesn't lie below its parent, {}", parent->describe());
    const UniqueFd there = openBelow(under->second.get(), *below, O_PATH);
    sys(::fstat(there.get(), &stat), "stat {}", mount.mountPoint);
    const std::string name = makePlace(std::to_string(mount.id), S_ISDIR(stat.st_mode));
    helpers_.putByPlugin(mount.id, fmt::format("/proc/self/fd/{}/{}", staging_.get(), name));
    noteMade(mount, UniqueFd(sys(::openat(staging_.get(), name.c_str(), O_PATH | O_CLOEXEC),
                                 "open what a plugin has mounted")));
    return true;
}

/// Creates a mount that isn't external. Returns an empty descriptor if the source doesn't exist yet.
UniqueFd MountStaging::makeInside(const Mount& mount) {
    if (const Mount* const source = sources_->find(mount.device, mount.root); source != nullptr) {
        madeFrom_[mount.id] = source->id;
        return cloneFrom(*source, mount);
    }
    if (sources_->isAwaited(mount) || mount.isOverlay())
        return {};
    if (mount.isWhole())
        return makeFileSystem(mount);
    if (mount.kind.content != FsContent::Kernel && mount.kind.content != FsContent::View)
        return {};
    const auto below = pathBelow("/", mount.root);
    if (!below)
        fail("{} is no path", mount.root);
    return kernel::cloneMountBelow(wholeFor(mount), *below);
}

UniqueFd MountStaging::makeFileSystem(const Mount& mount) {
    if (mount.isAutomount())
        return automounts_.make(mount);
    kernel::FileSystemParts parts{mount.fsType, mount.source, optionsOf(mount), mount.superFlags};
    if (mount.externalName == kFromDevice) {
        const std::string key =
            mount.source.starts_with("dev[") ? mount.source.substr(4, mount.source.size() - 5) : mount.source;
        const auto device = ExternalMounts(options_).findDevice(key);
        if (!device)
            fail("no device is given for it: restore with --external dev[{}]:DEVICE", key);
        parts.source = *device;
    }
    const bool filled = mount.kind.content == FsContent::Files;
    if (mount.kind.content == FsContent::Kernel)
        parts.superFlags = 0;
    if (filled)
        parts.superFlags &= ~std::uint64_t{MS_RDONLY};
    UniqueFd fd = mountWhereItShows(mount, parts);
    if (filled) {
        fillFileSystem(mount, fd.get());
        filled_.insert(mount.device);
    }
    return fd;
}

/// Mounts a new file system in the network namespace that the file system must show.
UniqueFd MountStaging::mountWhereItShows(const Mount& mount, const kernel::FileSystemParts& parts) const {
    UniqueFd fd;
    const auto make = [&] { fd = kernel::mountFileSystem(parts); };
    if (mount.networkOf != 0)
        nsContext_.inSocketNetNs(
            mount.networkOf, [](UniqueFd home) { return home; }, make);
    else
        make();
    return fd;
}

/// Returns true if the images contain the files of the mount's file system.
bool MountStaging::hasContent(const Mount& mount) const {
    return mount.kind.content == FsContent::Files &&
           (images_.exists(ImageKind::TmpfsDev, mount.device) ||
            images_.exists(ImageKind::Tmpfs, static_cast<std::uint64_t>(mount.id)));
}

/// Returns the form of the files that openContent() opens.
FileArchives::Form MountStaging::formOfFiles() const noexcept {
    return images_.unpacked() != nullptr ? FileArchives::Form::List : FileArchives::Form::Archive;
}

std::optional<UniqueFd> MountStaging::openContent(const Mount& mount) const {
    const ImageDir& from = images_.unpacked() != nullptr ? *images_.unpacked() : images_;
    auto archive = from.openRaw(ImageKind::TmpfsDev, mount.device, O_RDONLY);
    return archive ? std::move(archive)
                   : from.openRaw(ImageKind::Tmpfs, static_cast<std::uint64_t>(mount.id), O_RDONLY);
}

void MountStaging::fillFileSystem(const Mount& mount, int directory) const {
    const UniqueFd files(sys(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open a new file system"));
    const auto archive = openContent(mount);
    if (!archive)
        fail("the images lack the files of it (device {:#x})", mount.device);
    archives_.value().unpack(archive->get(), formOfFiles(), files.get());
    restoreFileContents(files.get(), images_, mount.device, pages_);
    for (const MntEntry* const entry : mounts_.entriesOn(mount.device)) {
        std::vector<SocketFile> sockets;
        for (std::size_t at = 0; at < entry->n_sockets; ++at) {
            const MntSocketEntry& socket = *entry->sockets[at];
            sockets.push_back({socket.path, socket.mode, socket.uid, socket.gid, timespecOf(socket.mtime)});
        }
        makeSocketFiles(sockets, files.get());
    }
}

UniqueFd MountStaging::cloneFrom(const Mount& source, const Mount& mount) {
    const int from = made(source.id);
    const std::string below = *pathBelow(source.root, mount.root);
    if (!mount.rootDeleted)
        return kernel::cloneMountBelow(from, below);
    // The dumped file or directory was deleted. So clones a mount of a new one, and deletes the new one later.
    if (const MntDeletedFileEntry* const file = mounts_.entryOf(mount).deleted_file; file != nullptr)
        return deleted_.addFile(from, below, *file);
    return deleted_.addDirectory(from, below);
}

/// Returns a mount from which other mounts with the same file system and peer group can be cloned.
int MountStaging::wholeFor(const Mount& mount) {
    UniqueFd& whole = wholes_[{mount.device, mount.shared}];
    if (!whole)
        whole = makeWhole(mount);
    return whole.get();
}

UniqueFd MountStaging::makeWhole(const Mount& mount) const {
    UniqueFd whole;
    if (const Mount* const made = sources_->find(mount.device, sources_->commonOf(mount)); made != nullptr)
        whole = kernel::cloneMount(made_.at(made->id).get());
    else if (mount.kind.content == FsContent::Kernel || mount.kind.content == FsContent::View)
        whole = mountWhereItShows(mount, {mount.fsType, mount.source, optionsOf(mount), mount.superFlags});
    else
        fail("no mount shows all of its file system");
    const std::string name = fmt::format("whole-{}", mount.id);
    makeDirectory(staging_.get(), name, IfThere::Used);
    kernel::attachMountBelow(whole.get(), staging_.get(), name);
    kernel::setPropagation(whole.get(), MS_PRIVATE);
    return whole;
}

/// Creates a directory or file in the mount staging as a mount point. Returns its name.
std::string MountStaging::makePlace(std::string name, bool directory) const {
    if (directory)
        makeDirectory(staging_.get(), name, IfThere::Refused);
    else
        (void)createReplacing(staging_.get(), name, O_WRONLY, 0600);
    return name;
}

std::string MountStaging::optionsOf(const Mount& mount) const {
    if (mount.kind.code == FSTYPE__CGROUP2)
        return cgroupOptions_;
    if (mount.kind.content == FsContent::Kernel)
        return {};  // options would change the file system for all its users
    std::string options = withoutOptions(
        mount.options, [](std::string_view option) { return option == kNewInstance || option == "seclabel"; });
    return options_.lsmMountContext ? withMountContext(options, *options_.lsmMountContext) : options;
}

const Mount* MountStaging::sourceOf(const Mount& mount) const {
    const auto found = madeFrom_.find(mount.id);
    return found != madeFrom_.end() ? mounts_.find(found->second) : nullptr;
}

const Mount* MountStaging::showing(std::uint32_t device, const std::string& one, const std::string& other) const {
    return sources_->find(device, commonDirectory(one, other));
}

void MountStaging::leave() {
    deleted_.remove();
    staging_.reset();
    outside_.clear();
    outer_.clear();
    wholes_.clear();
}

}  // namespace criu::namespaces
