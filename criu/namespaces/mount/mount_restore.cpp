// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_restore.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/names.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/mount/mount_copied.hpp"
#include "criu/namespaces/mount/mount_joined.hpp"
#include "criu/namespaces/mount/mount_root.hpp"
#include "criu/namespaces/mount/mounts_within.hpp"
#include "criu/namespaces/mount/outside_mounts.hpp"
#include "criu/namespaces/mount/overlay.hpp"
#include "criu/namespaces/mount/temporary_proc.hpp"
#include "criu/namespaces/ns_ids.hpp"

namespace criu::namespaces {
namespace {

UniqueFd copyOf(int mount) {
    return UniqueFd(sys(::fcntl(mount, F_DUPFD_CLOEXEC, 0), "copy the descriptor of a mount"));
}

/// Returns the path of --root without symbolic links. If the directory is missing, returns the path of the option,
/// because MountStaging has a message for it. Returns nullopt without --root and for /, where listeners see the mounts
/// after enterRoot().
std::optional<std::string> canonicalRoot(const model::Options& options) {
    if (!options.root)
        return std::nullopt;
    std::error_code missing;
    const std::filesystem::path path = std::filesystem::canonical(*options.root, missing);
    const std::string name = missing ? *options.root : path.native();
    if (name.find_first_not_of('/') == std::string::npos)
        return std::nullopt;
    return name;
}

/// Throws Error unless --root is a directory. Staging would name it by the mount that it copies, not by the option.
void requireRootDirectory(const model::Options& options) {
    if (!options.root)
        return;
    struct stat status {};
    const int code = ::stat(options.root->c_str(), &status) != 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    if (code == 0)
        return;
    Error error(code, fmt::format("--root {}", *options.root));
    if (!options.root->starts_with('/'))
        error.addHint("a relative path begins at the work directory: --work-dir, or else the images directory");
    throw error;
}

}  // namespace

MountRestore::MountRestore(const RestoreInputs& inputs, const KindNsIds& numbers, MountHelpers helpers)
    : log_(inputs.log),
      helpers_(std::move(helpers)),
      ids_(inputs.nsContext.ids),
      nsContext_(inputs.nsContext),
      root_(inputs.options.notifyMounts ? canonicalRoot(inputs.options) : std::nullopt),
      mounts_(inputs.images, numbers.own, numbers.others, inputs.options),
      procs_(mounts_, inputs.tree.nested()),
      staging_(mounts_, inputs, helpers_) {
    requireCalls();
    requireRoom();
    if (mounts_.main() != nullptr)
        requireRootDirectory(inputs.options);
    first_ = numbers.own != 0 ? numbers.own : numberOf(*inputs.outside, kernel::NamespaceKind::Mount).value_or(0);
    current_ = first_;
    // The process that creates a mount namespace must return to criu's namespace afterwards. In a private user
    // namespace, it would lack the capabilities for this.
    if (mounts_.main() == nullptr && ids_.isOwnNamespace())
        fail(
            "a tree with a user namespace of its own was in the mount namespace of criu, but not all of it, which "
            "can't be restored yet");
    inputs.nsContext.ownPaths = true;
    inputs.nsContext.makesMounts = mounts_.main() != nullptr;
    if (numberOf(**inputs.tree.root().ids, kernel::NamespaceKind::Mount) !=
        numberOf(*inputs.outside, kernel::NamespaceKind::Mount))
        inputs.nsContext.withPathsOf = inside;
    inputs.nsContext.mountSpaceOf = [this](int mount) {
        const MountImages::Space* const space = mounts_.spaceOf(mount);
        return space != nullptr ? space->number : mounts_.main() == nullptr ? first_ : 0;
    };
    inputs.nsContext.inSocketNameNs = [this](std::uint32_t space, const MoveFd& move, const Work& work) {
        const auto place = places_.find(space);
        if (place == places_.end() || !place->second.root)
            return work();
        const RootVisit visit(place->second.root->get(), move);
        work();
    };
}

/// Throws Error if the kernel lacks the calls that create detached mounts and set their propagation.
void MountRestore::requireCalls() {
    if (!kernel::canRestoreMountNamespaces())
        failWith(ENOSYS, "a mount namespace can't be restored by this kernel: that needs {} or newer",
                 kernel::kMountNamespacesSince);
}

/// Raises the limit of open files. Each mount needs a descriptor until it is attached, and a mount to which no path
/// leads needs a second one.
void MountRestore::requireRoom() const {
    constexpr std::size_t kOthers = 1024;
    const std::size_t mounts = mounts_.all().size();
    std::size_t covered = 0;
    if (const MountImages::Space* const main = mounts_.main(); main != nullptr) {
        const MountPaths paths(main->mounts);
        for (const Mount& mount : main->mounts.all())
            covered += paths.isReachable(mount) ? 0 : 1;
    }
    if (kernel::makeRoomForFiles(mounts + covered + kOthers))
        return;
    Error error(EMFILE, fmt::format("the tree has {} mounts, each of which needs an open file to be restored", mounts));
    error.addHint("raise the limit of open files (ulimit -Hn, sysctl fs.nr_open)");
    throw error;
}

void MountRestore::finish(const kernel::ProcPid& first) {
    if (mounts_.terminals().empty())
        return;
    const UniqueFd space = first.open("ns/mnt", O_RDONLY);
    const UniqueFd root = first.open("root", O_PATH | O_DIRECTORY);
    const auto relative = [](const std::string& path) { return path.substr(path.find_first_not_of('/')); };
    kernel::runInMountNamespace(space.get(), [&] {
        for (const MountImages::Terminal& mount : mounts_.terminals()) {
            const ErrorContext context([&] { return fmt::format("mount terminal {} on {}", mount.path, mount.place); });
            const UniqueFd made = kernel::cloneMountBelow(root.get(), relative(mount.path));
            kernel::setPropagation(made.get(), MS_PRIVATE);
            kernel::attachMountBelow(made.get(), root.get(), relative(mount.place));
            kernel::setMountFlags(made.get(), mount.flags);
        }
    });
}

void MountRestore::prepare(kernel::FdStore& store, const Inherited& /*inherited*/) {
    store_ = &store;
    staging_.openOutside(store);
}

std::uint64_t MountRestore::birthFlags(const model::Task& task) const {
    return task.parent == nullptr && mounts_.main() != nullptr ? CLONE_NEWNS : 0;
}

void MountRestore::build() {
    helpers_.makeDeletedFiles(
        makeMounts(),
        [this](int fromMount, const std::string& from, int toMount, const std::string& to) {
            return linkAcross(fromMount, from, toMount, to);
        },
        *store_);
    if (mounts_.main() != nullptr)
        seal(*mounts_.main());
    staging_.forget();
}

files::HiddenMounts MountRestore::makeMounts() {
    const ErrorContext context([] { return "make the mount namespace of the tree"; });
    log_.info("Making {} mounts", mounts_.all().size());
    std::optional<FirstProcessNsScope> home;
    if (mounts_.main() == nullptr) {
        home.emplace();
        places_[first_].space =
            store_->inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kernel::NamespaceKind::Mount));
        places_[first_].root = std::make_shared<const UniqueFd>(inheritRoot());
        sys(::unshare(CLONE_NEWNS), "create a mount namespace to make others in");
    }
    sys(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
    covered_.want(helpers_.namedDirectories());
    const UniqueFd outside = openRootDirectory();
    staging_.makeAll();
    for (const MountImages::Space& space : mounts_.spaces())
        if (nsContext_.ownerOf(space.number) != nullptr)
            within_.merge(mountsToAttachInUserns(space.mounts));
    attachAll();
    makeOverlays();
    staging_.requireAll();
    restorePropagation(mounts_.all(), staging_.all(), staging_.outer(),
                       [this](const Mount& mount) { return staging_.makeWhole(mount); });
    for (const MountImages::Space& space : mounts_.spaces())
        if (&space != mounts_.main())
            split(space, places_[space.number]);
    if (home) {
        staging_.leave();
        home->enter();
        return hiddenMounts();
    }
    const MountImages::Space& first = *mounts_.main();
    if (mounts_.spaces().size() > 1)
        places_[first.number].space =
            store_->inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kernel::NamespaceKind::Mount));
    if (mounts_.lacksProc(first))
        makeProcDirectory(staging_.made(first.mounts.root().id));
    const UniqueFd proc = makeProcMount(first.mounts);
    if (nsContext_.mountsMade && root_)
        showMounts(first, outside);
    enterRoot(first.mounts, staging_.fd(), staging_.made(first.mounts.root().id),
              kernel::mountIdOf(staging_.made(topmostRoot(first.mounts).id)));
    staging_.leave();
    addProc(proc);
    if (nsContext_.mountsMade && !root_)
        nsContext_.mountsMade();
    requireInPlace();
    return hiddenMounts();
}

/// Moves the mount staging to the directory of --root, with the root of the tree on it, and lets listeners see the
/// mounts. `outside`: root directory before the mount staging covered it. A listener that enters the mount namespace
/// then finds the mounts of criu's namespace, and the tree at the directory of --root.
void MountRestore::showMounts(const MountImages::Space& first, const UniqueFd& outside) const {
    const ErrorContext context([] { return "show the mounts of the tree to listeners"; });
    kernel::attachMount(staging_.made(first.mounts.root().id), staging_.fd());
    kernel::attachMountBelow(staging_.fd(), outside.get(), root_->substr(root_->find_first_not_of('/')));
    nsContext_.mountsMade();
}

/// Compares the restored mounts with the images, because other processes may have changed the file systems during the
/// restore.
void MountRestore::requireInPlace() const {
    kernel::ProcBuffer buffer;
    const kernel::MountTable table = kernel::readMountInfo(kernel::ProcDir().self(), buffer);
    const auto rowOf = [&](int id) -> const kernel::MountInfo& {
        const auto number = kernel::mountIdOf(staging_.made(id));
        const kernel::MountInfo* const row = number ? table.find(*number) : nullptr;
        if (row == nullptr)
            fail("mount {} isn't in its namespace", id);
        return *row;
    };
    for (const Mount& mount : mounts_.main()->mounts.all()) {
        const ErrorContext context([&] { return mount.describe(); });
        const kernel::MountInfo& row = rowOf(mount.id);
        if (row.mountPoint != mount.mountPoint)
            fail("it came to lie on {}", row.mountPoint);
        if (!mounts_.isRoot(mount) && row.parentId != rowOf(mount.parentId).id)
            fail("it came to lie on another mount than it was");
        const Mount* const of = staging_.sourceOf(mount);
        if (of == nullptr || mount.rootDeleted || !mounts_.isOfMain(*of))
            continue;  // this process can't see the source, because it has left the source's namespace
        const kernel::MountInfo& ofRow = rowOf(of->id);
        const auto below = pathBelow(of->root, mount.root);
        const std::string base = ofRow.root == "/" ? "" : ofRow.root;
        const std::string wanted = below->empty() ? ofRow.root : fmt::format("{}/{}", base, *below);
        if (row.root != wanted)
            fail("it came to show {}, not {}", row.root, wanted);
    }
}

/// Returns a descriptor of the calling process' root directory, which all restored processes inherit.
UniqueFd MountRestore::inheritRoot() const {
    return store_->inherit(kernel::FdKey::Mount, openRootDirectory());
}

/// Returns the mounts to which no path of the tree leads, each with a directory. Restored processes reach the mount's
/// files by this directory.
files::HiddenMounts MountRestore::hiddenMounts() {
    files::HiddenMounts hidden;
    std::optional<MountPaths> paths;
    if (mounts_.main() != nullptr)
        paths.emplace(mounts_.main()->mounts);
    else
        hidden.emplace(files::kOtherMounts, files::HiddenDirectory{"", places_[first_].root});
    if (mounts_.main() != nullptr && mounts_.spaces().size() > 1)
        places_[first_].root = std::make_shared<const UniqueFd>(inheritRoot());
    for (const MountImages::Space& space : mounts_.spaces())
        for (const Mount& mount : space.mounts.all())
            if (&space == mounts_.main() && !paths->isReachable(mount))
                hidden.emplace(mount.id,
                               files::HiddenDirectory{mount.mountPoint,
                                                      std::make_shared<const UniqueFd>(store_->inherit(
                                                          kernel::FdKey::Mount, copyOf(staging_.made(mount.id))))});
            else if (const auto place = places_.find(space.number); place != places_.end() && place->second.root)
                hidden.emplace(mount.id, files::HiddenDirectory{"", place->second.root});
    covered_.moveTo(hidden, *store_);
    return hidden;
}

/// Creates a non-root namespace: copies all mounts, and then unmounts the copies that belong to other namespaces.
void MountRestore::split(const MountImages::Space& space, Place& place) {
    if (mounts_.lacksProc(space))
        makeProcDirectory(staging_.made(space.mounts.root().id));
    seal(space);
    const UniqueFd proc = makeProcMount(space.mounts);
    const UniqueFd* const owner = nsContext_.ownerOf(space.number);
    if (owner != nullptr)
        makeDirectory(staging_.fd(), kPlaceWithin, IfThere::Used);
    const UniqueFd base = kernel::openOwnNamespace(kernel::NamespaceKind::Mount);
    const UniqueFd root = openRootDirectory();
    sys(::unshare(CLONE_NEWNS), "create a mount namespace");
    {
        const UniqueFd staging(sys(::open("/..", O_PATH | O_CLOEXEC), "open the copy of all mounts"));
        const std::string name = std::to_string(space.mounts.root().id);
        const UniqueFd top(
            sys(::openat(staging.get(), name.c_str(), O_PATH | O_CLOEXEC), "open the copy of a namespace's root"));
        if (&topmostRoot(space.mounts) != &space.mounts.root())
            fail("the root of mount namespace {} is covered by another mount, which can't be restored yet",
                 space.number);
        if (owner != nullptr) {
            pivotTo(staging.get());
            unmountUntil(kernel::mountIdOf(staging.get()));
            UsernsMounts made = attachInUserns(*owner, space.mounts, within_, proc);
            place.space = store_->inherit(kernel::FdKey::Namespace, std::move(made.space));
            place.root = std::make_shared<const UniqueFd>(store_->inherit(kernel::FdKey::Mount, std::move(made.root)));
        } else {
            enterRoot(space.mounts, staging.get(), top.get(), kernel::mountIdOf(top.get()));
            addProc(proc);
            place.space =
                store_->inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kernel::NamespaceKind::Mount));
            place.root = std::make_shared<const UniqueFd>(inheritRoot());
        }
    }
    sys(::setns(base.get(), CLONE_NEWNS), "go back to the first mount namespace");
    sys(::fchdir(root.get()), "go back to the root directory");
    sys(::chroot("."), "go back to the root directory");
}

void MountRestore::enter(const model::Task& task) const {
    const auto number = task.ids ? numberOf(**task.ids, kernel::NamespaceKind::Mount) : std::nullopt;
    const auto place = number ? places_.find(*number) : places_.end();
    if (place == places_.end() || !place->second.space || (mounts_.main() == nullptr && *number == current_))
        return;
    sys(::setns(place->second.space.get(), CLONE_NEWNS), "enter mount namespace {}", *number);
    current_ = *number;
    if (mounts_.main() == nullptr && *number == first_) {
        // Needed because criu's root directory may not be the root of its mount namespace.
        sys(::fchdir(place->second.root->get()), "enter the root directory of criu");
        sys(::chroot("."), "enter the root directory of criu");
    }
}

/// Creates a hard link between two mounts of one file system. link(2) refuses to link across mounts, so criu uses a
/// third mount that shows both directories.
UniqueFd MountRestore::linkAcross(int fromMount, const std::string& from, int toMount, const std::string& to) const {
    const auto find = [this](int id) -> const Mount& {
        const Mount* const mount = mounts_.find(id);
        if (mount == nullptr)
            fail("the images have no mount {}", id);
        return *mount;
    };
    const Mount& one = find(fromMount);
    const Mount& other = find(toMount);
    // showing() prefers a mount of the root's namespace.
    const Mount* const both = one.device == other.device ? staging_.showing(one.device, one.root, other.root) : nullptr;
    if (both == nullptr)
        fail("it was on {} and on {}; no mount shows both, so it can't be restored", one.describe(), other.describe());
    const auto place = [&](const Mount& mount, const std::string& path) {
        const auto below = pathBelow(mount.mountPoint, path);
        const auto base = pathBelow(both->root, mount.root);
        if (!below || !base)
            fail("{} doesn't lie on {}", path, mount.describe());
        return base->empty() ? *below : fmt::format("{}/{}", *base, *below);
    };
    // Uses a clone, because mounts that lie on the original could cover the path.
    UniqueFd copy;
    if (mounts_.isOfMain(*both))
        copy = kernel::cloneMount(staging_.made(both->id));
    const int directory = copy ? copy.get() : staging_.made(both->id);
    return linkBelow(directory, place(one, from), place(other, to));
}

void MountRestore::seal(const MountImages::Space& space) {
    const MountTree& tree = space.mounts;
    // If the restore has created /proc on the root, removeProcDirectory() makes the root read-only later.
    const Mount* const later = mounts_.lacksProc(space) ? &tree.root() : nullptr;
    for (const Mount& mount : tree.all()) {
        const int made = staging_.made(mount.id);
        if ((mount.flags & MS_RDONLY) != 0 && &mount != later)
            kernel::setMountFlags(made, mount.flags);
        if ((mount.superFlags & MS_RDONLY) != 0 && staging_.isFilled(mount.device) &&
            (later == nullptr || mount.device != later->device))
            kernel::makeFileSystemReadOnly(made);
    }
}

void MountRestore::clean(std::span<const ParkedProcess> processes) {
    for (const MountImages::Space& space : mounts_.spaces()) {
        if (!lacksProc(space.mounts))
            continue;
        const auto there = std::find_if(processes.begin(), processes.end(), [&](const ParkedProcess& process) {
            return process.task.ids && numberOf(**process.task.ids, kernel::NamespaceKind::Mount) == space.number;
        });
        if (there != processes.end())
            inside(there->pid, [&] {
                sys(::umount2("/proc", MNT_DETACH | UMOUNT_NOFOLLOW), "take the proc file system off /proc");
                if (mounts_.lacksProc(space))
                    removeProcDirectory(space.mounts.root());
            });
    }
    procs_.exchange(processes, ids_);
}

/// Attaches those created mounts whose parents are created. Later calls attach mounts that were created since.
void MountRestore::attachAll() {
    for (const MountImages::Space& space : mounts_.spaces())
        attach(space.mounts);
}

/// Mounts overlays in an order in which each layer exists before its overlay.
void MountRestore::makeOverlays() {
    std::vector<PlannedOverlay> overlays;
    std::map<const Mount*, const MountImages::Space*> spaces;
    for (const MountImages::Space& space : mounts_.spaces())
        for (const Mount& mount : space.mounts.all())
            if (mount.isOverlay() && !staging_.has(mount.id)) {
                overlays.push_back({&mount, space.mounts.all()});
                spaces.emplace(&mount, &space);
            }
    for (const PlannedOverlay& overlay : inOrderOfLayers(overlays)) {
        const Mount& mount = *overlay.mount;
        UniqueFd made;
        {
            const RootVisit visit(staging_.made(spaces.at(&mount)->mounts.root().id), [](UniqueFd fd) { return fd; });
            made = mountOverlay(mount);
        }
        staging_.add(mount, std::move(made));
        attachAll();
    }
}

/// Attaches the created mounts of a namespace. Uses a list instead of recursion: the images decide how deep mounts are
/// nested, and could exhaust the stack.
void MountRestore::attach(const MountTree& tree) {
    const std::map<int, std::vector<const Mount*>> all = tree.children();
    std::vector<const Mount*> attached{&tree.root()};
    while (!attached.empty()) {
        const Mount& parent = *attached.back();
        attached.pop_back();
        const auto children = all.find(parent.id);
        if (children == all.end())
            continue;
        for (const Mount* const child : children->second) {
            if (!staging_.has(child->id))
                continue;
            attached.push_back(child);
            if (!attached_.insert(child->id).second)
                continue;
            const ErrorContext context([&] { return child->describe(); });
            if (within_.contains(child->id)) {
                covered_.requireNone(parent, *child);
                continue;
            }
            const auto below = pathBelow(parent.mountPoint, child->mountPoint);
            if (!below)
                fail("it doesn't lie below its parent, {}", parent.describe());
            if (mounts_.main() != nullptr && &tree == &mounts_.main()->mounts)
                covered_.openBelow(parent, staging_.made(parent.id), *child);
            else
                covered_.requireNone(parent, *child);
            kernel::attachMountBelow(staging_.made(child->id), staging_.made(parent.id), *below);
        }
    }
}

void MountRestore::inside(HostPid process, const Work& work) {
    const UniqueFd target = kernel::ProcDir().open(process.value).open("ns/mnt", O_RDONLY);
    kernel::runInMountNamespace(target.get(), work);
}

void MountRestore::complete(const model::Task& task) const {
    staging_.activate(task);
}

std::unique_ptr<NamespaceRestore> makeMountRestore(const RestoreInputs& inputs, MountHelpers helpers) {
    if (inputs.joined.has(kernel::NamespaceKind::Mount))
        return makeJoinedMountRestore(inputs, std::move(helpers));
    if (copiesMounts(inputs))
        return makeCopiedMountRestore(inputs, std::move(helpers));
    const KindNsIds numbers = KindNsIds::ofAny(inputs, kernel::NamespaceKind::Mount);
    if (numbers.own == 0 && numbers.others.empty())
        return nullptr;
    return std::make_unique<MountRestore>(inputs, numbers, std::move(helpers));
}

}  // namespace criu::namespaces
