// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount_restore.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/created_name.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/mountinfo.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/file_archive.hpp"
#include "criu/namespaces/file_contents.hpp"
#include "criu/namespaces/image_order.hpp"
#include "criu/namespaces/mount_dump.hpp"

namespace criu::namespaces {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;
constexpr const char* kTerminals = "/dev/pts";
constexpr std::string_view kNewInstance = "newinstance";

/// Options without those that `unwanted` says yes to.
std::string withoutOptions(std::string_view options, const std::function<bool(std::string_view)>& unwanted) {
    std::string kept;
    while (!options.empty()) {
        const std::size_t comma = std::min(options.find(','), options.size());
        const std::string_view option = options.substr(0, comma);
        options.remove_prefix(std::min(comma + 1, options.size()));
        if (!unwanted(option))
            kept += fmt::format("{}{}", kept.empty() ? "" : ",", option);
    }
    return kept;
}

UniqueFd openRoot() {
    return UniqueFd(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
}

bool isDirectory(int fd) {
    struct stat stat {};
    sys(::fstat(fd, &stat), "stat a mount");
    return S_ISDIR(stat.st_mode);
}

/// Those of the mounts of cgroup2 that criu sees; empty if it sees none.
std::string presentCgroupOptions() {
    kernel::ProcBuffer buffer;
    const kernel::MountTable mounts = kernel::readMountInfo(kernel::ProcDir().self(), buffer);
    for (const kernel::MountInfo& mount : mounts.all())
        if (mount.fsType == "cgroup2")
            return withoutOptions(mount.superOptions,
                                  [](std::string_view option) { return option == "rw" || option == "ro"; });
    return {};
}

/// What is mounted on the root, or that itself.
const Mount& topOf(const MountTree& tree) {
    const Mount* top = &tree.root();
    for (const Mount& mount : tree.all())
        if (mount.parentId == top->id && mount.mountPoint == "/" && &mount != top)
            top = &mount;
    return *top;
}

/// Absolute paths of the process begin at another directory while this lives. A path goes on into whatever is mounted
/// there, in whichever namespace, so this leads into other mount namespaces.
class RootVisit {
public:
    RootVisit(int root, const MoveFd& move)
        : root_(move(UniqueFd(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory")))),
          current_(move(UniqueFd(sys(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the current directory")))) {
        sys(::fchdir(root), "enter the root of another mount namespace");
        if (::chroot(".") != 0) {
            const int code = errno;
            back();
            throw Error(code, "make the root of another mount namespace the root");
        }
    }
    ~RootVisit() { back(); }
    RootVisit(const RootVisit&) = delete;
    RootVisit& operator=(const RootVisit&) = delete;

private:
    void back() const noexcept {
        if (::fchdir(root_.get()) != 0 || ::chroot(".") != 0 || ::fchdir(current_.get()) != 0)
            ::abort();  // whatever came next would happen in the wrong place
    }

    UniqueFd root_;
    UniqueFd current_;
};

bool isNewInstance(const Mount& mount) {
    return mount.kind.code == FSTYPE__DEVPTS && mount.options.find(kNewInstance) != std::string::npos;
}

}  // namespace

MountRestore::MountRestore(const RestoreInputs& inputs, const KindNumbers& numbers, MountHelpers helpers)
    : options_(inputs.options),
      log_(inputs.log),
      images_(inputs.images),
      pages_(inputs.pages),
      helpers_(std::move(helpers)) {
    const auto ofCriu = numberOf(*inputs.outside, kernel::NamespaceKind::Mount);
    trees_.push_back(read(images_, numbers.own, options_));
    for (const std::uint32_t number : numbers.others) {
        if (number == ofCriu)
            fail("a process was in the mount namespace of criu, but not the first one");
        trees_.push_back(read(images_, number, options_));
    }
    takeTerminalMounts();
    inputs.surroundings.ownPaths = true;
    inputs.surroundings.withPathsOf = inside;
    inputs.surroundings.mountSpaceOf = [this](int mount) {
        const Tree* const tree = treeOf(mount);
        return tree != nullptr ? tree->number : 0;
    };
    inputs.surroundings.whereNamesAre = [this](std::uint32_t space, const MoveFd& move, const Work& work) {
        const auto tree =
            std::find_if(trees_.begin(), trees_.end(), [&](const Tree& other) { return other.number == space; });
        if (tree == trees_.end() || !tree->root)
            return work();
        const RootVisit visit(tree->root->get(), move);
        work();
    };
    std::set<int> ids;
    for (const Mount* const mount : all()) {
        if (!ids.insert(mount->id).second)
            fail("two mounts have the number {}", mount->id);
        // Where the archives are unpacked, paths may lead to the tree's files already.
        if (!archives_ && hasContent(*mount))
            archives_.emplace();
        if (!isRoot(*mount) && !mount->externalName && !mount->ofPlugin && mount->isWhole() &&
            mount->kind.content == FsContent::Unknown && mount->device != main().root().device) {
            Error error(0, fmt::format("{} is of a file system that can't be mounted anew", mount->describe()));
            error.addHint(mount->kind.code == FSTYPE__OVERLAYFS ? "dump it with --external mnt[PATH]:NAME"
                                                                : "have it mounted with --enable-fs");
            throw error;
        }
    }
}

/// A terminal has its file in a devpts as long as it is open, so nothing can be mounted from there before the files of
/// processes are restored.
void MountRestore::takeTerminalMounts() {
    MountTree& tree = trees_.front().mounts;
    const auto devptsOf = [&](const Mount& mount) {
        return std::find_if(tree.all().begin(), tree.all().end(), [&](const Mount& other) {
            return other.device == mount.device && other.isWhole() && tree.isReachable(other);
        });
    };
    const auto isLate = [&](const Mount& mount) {
        return mount.kind.code == FSTYPE__DEVPTS && !mount.isWhole() && !mount.externalName && mount.shared == 0 &&
               mount.master == 0 && mount.root != "/ptmx" && devptsOf(mount) != tree.all().end();
    };
    std::set<int> late;
    for (const Mount& mount : tree.all()) {
        if (!isLate(mount))
            continue;
        late.insert(mount.id);
        terminals_.push_back({devptsOf(mount)->mountPoint + mount.root, mount.mountPoint, mount.flags});
    }
    tree.remove([&](const Mount& mount) { return late.contains(mount.id); });
}

void MountRestore::finish(const kernel::ProcPid& first) {
    if (terminals_.empty())
        return;
    const UniqueFd space = first.open("ns/mnt", O_RDONLY);
    const UniqueFd root = first.open("root", O_PATH | O_DIRECTORY);
    const auto relative = [](const std::string& path) { return path.substr(path.find_first_not_of('/')); };
    kernel::insideMountNamespace(space.get(), [&] {
        for (const TerminalMount& mount : terminals_) {
            const ErrorContext context(
                [&] { return fmt::format("mount terminal {} on {}", mount.terminal, mount.place); });
            const UniqueFd made = kernel::cloneMountBelow(root.get(), relative(mount.terminal));
            kernel::setPropagation(made.get(), MS_PRIVATE);
            kernel::attachMountBelow(made.get(), root.get(), relative(mount.place));
            kernel::setMountFlags(made.get(), mount.flags);
        }
    });
}

MountRestore::Tree MountRestore::read(const ImageDir& images, std::uint32_t number, const model::Options& options) {
    Tree tree;
    tree.number = number;
    ImageReader image = images.openRequired(ImageKind::Mountpoints, number);
    const std::string name = image.name();
    tree.entries = image.all<MntEntry>();
    std::vector<const MntEntry*> entries;
    for (const auto& entry : tree.entries)
        entries.push_back(entry.get());
    if (entries.empty())
        fail("{} has no mounts", name);
    const ErrorContext context([&] { return name; });
    tree.mounts = MountTree::fromImage(entries, options.enabledFilesystems);
    return tree;
}

std::vector<const Mount*> MountRestore::all() const {
    std::vector<const Mount*> mounts;
    for (const Tree& tree : trees_)
        for (const Mount& mount : tree.mounts.all())
            mounts.push_back(&mount);
    return mounts;
}

const MntEntry* MountRestore::entryFor(const Mount& mount) const {
    for (const Tree& tree : trees_)
        for (const auto& entry : tree.entries)
            if (static_cast<int>(entry->mnt_id) == mount.id)
                return entry.get();
    return nullptr;
}

void MountRestore::prepare(kernel::FdStore& store, const Inherited& /*inherited*/) {
    store_ = &store;
    cgroupOptions_ = presentCgroupOptions();
    for (const Mount* const mount : all()) {
        const ErrorContext context([&] { return mount->describe(); });
        if (UniqueFd fd = openOutside(*mount); fd)
            outside_[mount->id] = store.inherit(kernel::FdKey::Mount, std::move(fd));
    }
}

/// What a mount is of, if that is in criu's own namespace; else nothing.
UniqueFd MountRestore::openOutside(const Mount& mount) const {
    const ExternalMounts externals(options_);
    if (isRoot(mount)) {
        if (options_.root)
            return kernel::cloneMountAt(*options_.root);
        if (mount.kind.content == FsContent::Files && images_.exists(ImageKind::TmpfsDev, mount.device))
            return {};
        struct stat here {};
        sys(::stat("/", &here), "stat the root directory");
        if (mount.isWhole() && kernel::kernelForm(here.st_dev) == mount.device)
            return kernel::cloneMountAt("/");
        Error error(0, "the tree had another root than criu has");
        error.addHint("name a directory for it with --root");
        throw error;
    }
    if (mount.externalName == kFromDevice)
        return {};
    if (mount.externalName == kFoundByItself) {
        if (!externals.automatic()) {
            Error error(0, fmt::format("it was found outside, at {}, by itself", mount.source));
            error.addHint("allow that again with --external mnt[]");
            throw error;
        }
        // A path out of the images, which the kernel had shown: there was no link on its way.
        const UniqueFd top = openRoot();
        return kernel::cloneMountBelow(top.get(), mount.source.substr(mount.source.find_first_not_of('/')));
    }
    if (mount.externalName) {
        const auto path = externals.find(*mount.externalName);
        if (!path) {
            Error error(0, fmt::format("nothing is given for the external mount {}", *mount.externalName));
            error.addHint(fmt::format("restore with --external mnt[{}]:PATH", *mount.externalName));
            throw error;
        }
        return kernel::cloneMountAt(path->starts_with('/') ? *path : '/' + *path);
    }
    if (mount.kind.code == FSTYPE__DEVPTS && mount.isWhole() && !isNewInstance(mount))
        return kernel::cloneMountAt(kTerminals);
    return {};
}

std::uint64_t MountRestore::birthFlags(const model::Task& task) const {
    return task.parent == nullptr ? CLONE_NEWNS : 0;
}

void MountRestore::build() {
    helpers_.makeDeletedFiles(
        makeMounts(),
        [this](int fromMount, const std::string& from, int toMount, const std::string& to) {
            linkAcross(fromMount, from, toMount, to);
        },
        *store_);
    seal();
}

files::HiddenMounts MountRestore::makeMounts() {
    const ErrorContext context([] { return "make the mount namespace of the tree"; });
    log_.info("Making {} mounts", all().size());
    sys(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
    // On top of all, where nobody needs a directory for it.
    yard_ = kernel::mountFileSystem({"tmpfs", "criu", "mode=700", 0});
    kernel::attachMount(yard_.get(), openRoot().get());
    stageAll();
    for (const Tree& tree : trees_)
        attachBelow(tree.mounts, tree.mounts.root());
    const std::vector<const Mount*> every = all();
    restorePropagation(every, made_, outer_, [this](const Mount& mount) { return helper(mount); });
    for (std::size_t other = 1; other < trees_.size(); ++other)
        split(trees_[other]);
    if (trees_.size() > 1)
        trees_.front().space =
            store_->inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kernel::NamespaceKind::Mount));
    enterRoot(main(), yard_.get(), made_.at(main().root().id).get(),
              kernel::mountIdOf(made_.at(topOf(main()).id).get()));
    yard_.reset();
    outside_.clear();
    outer_.clear();
    addProc(main());
    requireInPlace();
    return hiddenMounts();
}

/// What has become of the mounts has to be what the images say, whatever others did to the file systems meanwhile.
void MountRestore::requireInPlace() const {
    kernel::ProcBuffer buffer;
    const kernel::MountTable table = kernel::readMountInfo(kernel::ProcDir().self(), buffer);
    const auto rowOf = [&](int id) -> const kernel::MountInfo& {
        const auto number = kernel::mountIdOf(made_.at(id).get());
        const kernel::MountInfo* const row = number ? table.find(*number) : nullptr;
        if (row == nullptr)
            fail("mount {} isn't in its namespace", id);
        return *row;
    };
    for (const Mount& mount : main().all()) {
        const ErrorContext context([&] { return mount.describe(); });
        const kernel::MountInfo& row = rowOf(mount.id);
        if (row.mountPoint != mount.mountPoint)
            fail("it came to lie on {}", row.mountPoint);
        if (!isRoot(mount) && row.parentId != rowOf(mount.parentId).id)
            fail("it came to lie on another mount than it was");
        const auto source = sources_.find(mount.id);
        if (source == sources_.end() || mount.rootDeleted)
            continue;
        const Mount* const of = main().find(source->second);
        if (of == nullptr)
            continue;  // of a further namespace: its copy is elsewhere by now
        const kernel::MountInfo& ofRow = rowOf(of->id);
        const auto below = pathBelow(of->root, mount.root);
        const std::string base = ofRow.root == "/" ? "" : ofRow.root;
        const std::string wanted = below->empty() ? ofRow.root : fmt::format("{}/{}", base, *below);
        if (row.root != wanted)
            fail("it came to show {}, not {}", row.root, wanted);
    }
}

/// Where files are that can't be found by their paths alone.
files::HiddenMounts MountRestore::hiddenMounts() {
    files::HiddenMounts hidden;
    if (trees_.size() > 1)
        trees_.front().root = std::make_shared<const UniqueFd>(
            store_->inherit(kernel::FdKey::Mount,
                            UniqueFd(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"))));
    for (const Tree& tree : trees_)
        for (const Mount& mount : tree.mounts.all())
            if (&tree == &trees_.front() && !tree.mounts.isReachable(mount))
                hidden[mount.id] = {
                    mount.mountPoint,
                    std::make_shared<const UniqueFd>(store_->inherit(
                        kernel::FdKey::Mount, UniqueFd(sys(::fcntl(made_.at(mount.id).get(), F_DUPFD_CLOEXEC, 0),
                                                           "copy the descriptor of a mount"))))};
            else if (tree.root)
                hidden[mount.id] = {"", tree.root};
    return hidden;
}

/// Makes the namespace of another tree: of a copy of all, which keeps only that.
void MountRestore::split(Tree& tree) {
    sealBelow(tree);
    const UniqueFd base = kernel::openOwnNamespace(kernel::NamespaceKind::Mount);
    const UniqueFd root(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
    sys(::unshare(CLONE_NEWNS), "create a mount namespace");
    tree.space = store_->inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kernel::NamespaceKind::Mount));
    {
        const UniqueFd yard(sys(::open("/..", O_PATH | O_CLOEXEC), "open the copy of all mounts"));
        const std::string name = std::to_string(tree.mounts.root().id);
        const UniqueFd top(
            sys(::openat(yard.get(), name.c_str(), O_PATH | O_CLOEXEC), "open the copy of a namespace's root"));
        if (&topOf(tree.mounts) != &tree.mounts.root())
            fail("the root of mount namespace {} is covered by another mount, which can't be restored yet",
                 tree.number);
        enterRoot(tree.mounts, yard.get(), top.get(), kernel::mountIdOf(top.get()));
        addProc(tree.mounts);
        tree.root = std::make_shared<const UniqueFd>(
            store_->inherit(kernel::FdKey::Mount,
                            UniqueFd(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"))));
    }
    sys(::setns(base.get(), CLONE_NEWNS), "go back to the first mount namespace");
    sys(::fchdir(root.get()), "go back to the root directory");
    sys(::chroot("."), "go back to the root directory");
}

void MountRestore::enter(const model::Task& task) const {
    const auto number = task.ids ? numberOf(**task.ids, kernel::NamespaceKind::Mount) : std::nullopt;
    for (const Tree& tree : trees_)
        if (number == tree.number && tree.space)
            sys(::setns(tree.space.get(), CLONE_NEWNS), "enter mount namespace {}", *number);
}

const MountRestore::Tree* MountRestore::treeOf(int mount) const {
    const auto found = std::find_if(trees_.begin(), trees_.end(),
                                    [&](const Tree& tree) { return tree.mounts.find(mount) != nullptr; });
    return found != trees_.end() ? &*found : nullptr;
}

/// link(2) refuses two mounts even if they are of one file system. A third that shows both directories will do.
void MountRestore::linkAcross(int fromMount, const std::string& from, int toMount, const std::string& to) const {
    const auto find = [this](int id) -> const Mount& {
        const Tree* const tree = treeOf(id);
        if (tree == nullptr)
            fail("the images have no mount {}", id);
        return *tree->mounts.find(id);
    };
    const Mount& one = find(fromMount);
    const Mount& other = find(toMount);
    const std::vector<const Mount*> every = all();  // those of the first process' namespace come first
    const auto both = std::find_if(every.begin(), every.end(), [&](const Mount* mount) {
        return made_.contains(mount->id) && mount->covers(one) && mount->covers(other);
    });
    if (both == every.end())
        fail("it was on {} and on {}; no mount shows both, so it can't be restored", one.describe(), other.describe());
    const auto place = [&](const Mount& mount, const std::string& path) {
        const auto below = pathBelow(mount.mountPoint, path);
        const auto base = pathBelow((*both)->root, mount.root);
        if (!below || !base)
            fail("{} doesn't lie on {}", path, mount.describe());
        return base->empty() ? *below : fmt::format("{}/{}", *base, *below);
    };
    // In a copy nothing is mounted on the way.
    UniqueFd copy;
    if (trees_.front().mounts.find((*both)->id) != nullptr)
        copy = kernel::cloneMount(made_.at((*both)->id).get());
    const int directory = copy ? copy.get() : made_.at((*both)->id).get();
    linkBelow(directory, place(one, from), place(other, to));
}

void MountRestore::seal() {
    sealBelow(trees_.front());
    made_.clear();
}

void MountRestore::sealBelow(const Tree& tree) {
    for (const Mount& mount : tree.mounts.all()) {
        const int made = made_.at(mount.id).get();
        if ((mount.flags & MS_RDONLY) != 0)
            kernel::setMountFlags(made, mount.flags);
        if ((mount.superFlags & MS_RDONLY) != 0 && filled_.contains(mount.device))
            kernel::makeFileSystemReadOnly(made);
    }
}

/// criu needs it, and it must be the whole.
bool MountRestore::lacksProc(const MountTree& tree) {
    const Mount& proc = tree.lookUp("/proc");
    return proc.kind.code != FSTYPE__PROC || !proc.isWhole() || proc.mountPoint != "/proc";
}

/// For the time of the restore.
void MountRestore::addProc(const MountTree& tree) {
    if (!lacksProc(tree))
        return;
    const ErrorContext context([] { return "put a proc file system on /proc for the time of the restore"; });
    const UniqueFd proc = kernel::mountFileSystem({"proc", "proc", "", 0});
    kernel::attachMountBelow(proc.get(), openRoot().get(), "proc");
}

void MountRestore::clean(std::span<const ParkedProcess> processes) {
    for (const Tree& tree : trees_) {
        if (!lacksProc(tree.mounts))
            continue;
        const auto there = std::find_if(processes.begin(), processes.end(), [&](const ParkedProcess& process) {
            return process.task.ids && numberOf(**process.task.ids, kernel::NamespaceKind::Mount) == tree.number;
        });
        if (there != processes.end())
            inside(there->pid, [] {
                sys(::umount2("/proc", MNT_DETACH | UMOUNT_NOFOLLOW), "take the proc file system off /proc");
            });
    }
}

/// A mount is made when what it is of exists.
void MountRestore::stageAll() {
    std::vector<const Mount*> waiting = all();
    while (!waiting.empty()) {
        const std::size_t before = waiting.size();
        std::erase_if(waiting, [&](const Mount* mount) {
            const ErrorContext context([&] { return mount->describe(); });
            return stage(*mount);
        });
        if (waiting.size() == before)
            fail("{}: nothing is there to mount {} from", waiting.front()->describe(), waiting.front()->root);
    }
}

/// False if it has to wait for another.
bool MountRestore::stage(const Mount& mount) {
    UniqueFd fd;
    const std::vector<const Mount*> every = all();
    if (const auto found = outside_.find(mount.id); found != outside_.end()) {
        fd = std::move(found->second);
        // A peer of the mount outside it stays only if it is to be one.
        const bool peer = mount.externalName == kFoundByItself && !mount.sharedInsideOnly && mount.shared != 0;
        const bool slave = mount.master != 0 && std::none_of(every.begin(), every.end(), [&](const Mount* other) {
                               return other->shared == mount.master;
                           });
        // What is mounted on a peer would be mounted outside, too: it joins again when all is in its place.
        if (peer) {
            const std::string outer = placeNamed(fmt::format("outer-{}", mount.id), isDirectory(fd.get()));
            kernel::attachMountBelow(fd.get(), yard_.get(), outer);
            UniqueFd inner = kernel::cloneMount(fd.get());
            outer_[mount.id] = std::exchange(fd, std::move(inner));
        }
        kernel::setPropagation(fd.get(), slave && !peer ? MS_SLAVE : MS_PRIVATE);
    } else if (mount.ofPlugin) {
        const auto parent =
            std::find_if(every.begin(), every.end(), [&](const Mount* other) { return other->id == mount.parentId; });
        const auto made = made_.find(mount.parentId);
        if (parent == every.end() || made == made_.end())
            return false;
        struct stat stat {};
        const auto below = pathBelow((*parent)->mountPoint, mount.mountPoint);
        if (!below)
            fail("it doesn't lie below its parent, {}", (*parent)->describe());
        const UniqueFd there = openBelow(made->second.get(), *below, O_PATH);
        sys(::fstat(there.get(), &stat), "stat {}", mount.mountPoint);
        const std::string name = place(mount, S_ISDIR(stat.st_mode));
        helpers_.putByPlugin(mount.id, fmt::format("/proc/self/fd/{}/{}", yard_.get(), name));
        made_[mount.id] =
            UniqueFd(sys(::openat(yard_.get(), name.c_str(), O_PATH | O_CLOEXEC), "open what a plugin has mounted"));
        return true;
    } else {
        const auto source = std::find_if(every.begin(), every.end(), [&](const Mount* other) {
            return made_.contains(other->id) && other->covers(mount);
        });
        const bool awaited = std::any_of(every.begin(), every.end(), [&](const Mount* other) {
            return other != &mount && !made_.contains(other->id) && other->covers(mount) &&
                   (!mount.covers(*other) || isRoot(*other) || outside_.contains(other->id));
        });
        if (source != every.end()) {
            fd = cloneFrom(**source, mount);
            sources_[mount.id] = (*source)->id;
        } else if (awaited)
            return false;
        else if (mount.isWhole())
            fd = makeFileSystem(mount);
        else if (mount.kind.content == FsContent::Kernel || mount.kind.content == FsContent::View) {
            const UniqueFd whole = helper(mount);
            const auto below = pathBelow("/", mount.root);
            if (!below)
                fail("{} is no path", mount.root);
            fd = kernel::cloneMountBelow(whole.get(), *below);
        } else
            return false;
    }
    const std::string name = place(mount, isDirectory(fd.get()));
    kernel::attachMountBelow(fd.get(), yard_.get(), name);
    kernel::setMountFlags(fd.get(), mount.flags & ~std::uint64_t{MS_RDONLY});
    made_[mount.id] = std::move(fd);
    return true;
}

/// A directory or file of the yard to put the mount on.
std::string MountRestore::place(const Mount& mount, bool directory) const {
    return placeNamed(std::to_string(mount.id), directory);
}

std::string MountRestore::placeNamed(std::string name, bool directory) const {
    if (directory)
        makeDirectory(yard_.get(), name, IfThere::Refused);
    else
        (void)createAnew(yard_.get(), name, O_WRONLY, 0600);
    return name;
}

std::string MountRestore::optionsOf(const Mount& mount) const {
    if (mount.kind.code == FSTYPE__CGROUP2)
        return cgroupOptions_;
    if (mount.kind.content == FsContent::Kernel)
        return {};  // they would change what others see
    std::string options = withoutOptions(mount.options, [&](std::string_view option) {
        return option == kNewInstance || option == "seclabel" ||
               (options_.lsmMountContext && option.starts_with("context="));
    });
    if (options_.lsmMountContext && mount.options.find("context=") != std::string::npos)
        options += fmt::format("{}context={}", options.empty() ? "" : ",", *options_.lsmMountContext);
    return options;
}

UniqueFd MountRestore::makeFileSystem(const Mount& mount) {
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
    UniqueFd fd = kernel::mountFileSystem(parts);
    if (filled) {
        fillFileSystem(mount, fd.get());
        filled_.insert(mount.device);
    }
    return fd;
}

bool MountRestore::hasContent(const Mount& mount) const {
    return mount.kind.content == FsContent::Files &&
           (images_.exists(ImageKind::TmpfsDev, mount.device) ||
            images_.exists(ImageKind::Tmpfs, static_cast<std::uint64_t>(mount.id)));
}

void MountRestore::fillFileSystem(const Mount& mount, int directory) const {
    const UniqueFd files(sys(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open a new file system"));
    auto archive = images_.openRaw(ImageKind::TmpfsDev, mount.device, O_RDONLY);
    if (!archive)
        archive = images_.openRaw(ImageKind::Tmpfs, static_cast<std::uint64_t>(mount.id), O_RDONLY);
    if (!archive)
        fail("the images lack the files of it (device {:#x})", mount.device);
    archives_.value().unpack(archive->get(), files.get());
    restoreFileContents(files.get(), images_, mount.device, pages_);
    for (const Mount* const other : all()) {
        const MntEntry* const entry = entryFor(*other);
        if (other->device != mount.device || entry == nullptr)
            continue;
        std::vector<SocketFile> sockets;
        for (std::size_t at = 0; at < entry->n_sockets; ++at) {
            const MntSocketEntry& socket = *entry->sockets[at];
            sockets.push_back(
                {socket.path,
                 socket.mode,
                 socket.uid,
                 socket.gid,
                 {static_cast<time_t>(socket.mtime / kNanoseconds), static_cast<long>(socket.mtime % kNanoseconds)}});
        }
        makeSocketFiles(sockets, files.get());
    }
}

UniqueFd MountRestore::cloneFrom(const Mount& source, const Mount& mount) const {
    const int from = made_.at(source.id).get();
    const std::string below = *pathBelow(source.root, mount.root);
    if (!mount.rootDeleted)
        return kernel::cloneMountBelow(from, below);
    // As it was: deleted after it had been mounted.
    const ErrorContext context([&] { return fmt::format("create directory {}, which is deleted again", mount.root); });
    kernel::CreatedName directory = kernel::CreatedName::below(from, below);
    return kernel::cloneMount(directory.createDirectory().get());
}

/// A mount of all that there is of a file system, for a moment.
UniqueFd MountRestore::helper(const Mount& mount) const {
    UniqueFd whole;
    const std::vector<const Mount*> every = all();
    const auto made = std::find_if(every.begin(), every.end(), [&](const Mount* other) {
        return other->device == mount.device && made_.contains(other->id) &&
               std::all_of(every.begin(), every.end(), [&](const Mount* third) {
                   return third->device != mount.device || third->shared != mount.shared || other->covers(*third);
               });
    });
    if (made != every.end())
        whole = kernel::cloneMount(made_.at((*made)->id).get());
    else if (mount.kind.content == FsContent::Kernel || mount.kind.content == FsContent::View)
        whole = kernel::mountFileSystem({mount.fsType, mount.source, optionsOf(mount), mount.superFlags});
    else
        fail("no mount shows all of its file system");
    const std::string name = fmt::format("whole-{}", mount.id);
    makeDirectory(yard_.get(), name, IfThere::Used);
    kernel::attachMountBelow(whole.get(), yard_.get(), name);
    kernel::setPropagation(whole.get(), MS_PRIVATE);
    return whole;
}

/// A list instead of recursion: how deep mounts are nested is up to the image.
void MountRestore::attachBelow(const MountTree& tree, const Mount& mount) {
    std::vector<const Mount*> attached{&mount};
    while (!attached.empty()) {
        const Mount& parent = *attached.back();
        attached.pop_back();
        for (const Mount* const child : tree.childrenOf(parent)) {
            const ErrorContext context([&] { return child->describe(); });
            const auto below = pathBelow(parent.mountPoint, child->mountPoint);
            if (!below)
                fail("it doesn't lie below its parent, {}", parent.describe());
            kernel::attachMountBelow(made_.at(child->id).get(), made_.at(parent.id).get(), *below);
            attached.push_back(child);
        }
    }
}

/// Makes a mount of the yard the root, and takes all else off, until mount `top` is what "/" leads to.
void MountRestore::enterRoot(const MountTree& tree, int yard, int root, std::optional<int> top) const {
    // pivot_root(2) wants it to share nothing. A peer keeps its place meanwhile.
    UniqueFd peer;
    if (tree.root().shared != 0 || tree.root().master != 0) {
        constexpr const char* kPlace = "peer";
        peer = kernel::cloneMount(root);
        makeDirectory(yard, kPlace, IfThere::Used);
        kernel::attachMountBelow(peer.get(), yard, kPlace);
        kernel::setPropagation(root, MS_PRIVATE);
    }
    sys(::fchdir(root), "enter the root of the tree");
    sys(static_cast<int>(::syscall(SYS_pivot_root, ".", ".")), "make the root of the tree the root");
    if (peer)
        kernel::joinPropagation(peer.get(), root);
    // What was criu's lies on top now: the yard, its root, and whatever had been mounted on that. It mustn't be taken
    // off elsewhere, too.
    kernel::makePrivateBelow(yard);
    const auto covering = [] {
        const UniqueFd fd(sys(::open("/..", O_PATH | O_CLOEXEC), "open what is mounted on the root"));
        return kernel::mountIdOf(fd.get());
    };
    while (covering() != top)
        sys(::umount2(".", MNT_DETACH), "take criu's own mounts off");
    sys(::chdir("/"), "go to the root");
}

void MountRestore::inside(HostPid process, const Work& work) {
    const UniqueFd target = kernel::ProcDir().open(process.value).open("ns/mnt", O_RDONLY);
    kernel::insideMountNamespace(target.get(), work);
}

std::unique_ptr<NamespaceRestore> makeMountRestore(const RestoreInputs& inputs, MountHelpers helpers) {
    const KindNumbers numbers = KindNumbers::of(inputs, kernel::NamespaceKind::Mount);
    if (numbers.own == 0)
        return nullptr;
    return std::make_unique<MountRestore>(inputs, numbers, std::move(helpers));
}

}  // namespace criu::namespaces
