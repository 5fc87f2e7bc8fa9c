// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/files/dump_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/dump/files/descriptor_reader.hpp"
#include "criu/engine/dump/files/file_kinds_dump.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/namespaces.hpp"
#include "criu/engine/fuse_guarded_run.hpp"
#include "criu/engine/restore/files/service_fds.hpp"
#include "criu/engine/rollback.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_locks.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/proc/kcmp.hpp"
#include "criu/kernel/proc/sharing.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/model/options.hpp"
#include "images/fdinfo.hpp"

namespace criu::engine {

/// Mount id in a PathKey, unless the tree has its own root.
constexpr int kNoMount = -1;

/// Private members of FileCollector; separate, so that the header doesn't include their types.
struct FileCollector::Impl {
    Impl(const Inputs& inputs, std::function<bool(HostPid, HostPid)> sharesTable)
        : tree(inputs.tree),
          mayInject(inputs.mayInject),
          sharedTables(inputs.tree.sharedTables()),
          kinds(inputs.segments, inputs.devices, inputs.tree, inputs.mayInject, inputs.namespaces.nsContext(),
                inputs.options.ghostLimit, inputs.log),
          locks(inputs.tree.pids(), std::move(sharesTable)) {}

    FrozenTree& tree;
    bool mayInject;
    const kernel::Sharing& sharedTables;
    FileKindsDump kinds;
    files::LockDump locks;
    kernel::ProcBuffer buffer;
    /// Copies of descriptors in flight. They stay open until the end, because identify() compares other descriptors
    /// with them.
    std::vector<files::FileCopy> inFlight;
    std::optional<RollbackStep> putBack;
};

FileCollector::FileCollector(const Inputs& inputs)
    : options_(inputs.options),
      log_(inputs.log),
      stop_(inputs.stop),
      images_(inputs.images),
      namespaces_(inputs.namespaces),
      guardedFiles_(inputs.guardedFiles),
      refusals_(inputs.refusals),
      pids_(inputs.tree.pids()),
      impl_(std::make_unique<Impl>(inputs, [this](HostPid one, HostPid other) {
          const Table* const table = tableOf(one);
          return table != nullptr && tableOf(other) == table;
      })) {
    // Also adds zombies, because a file such as a pidfd may refer to a zombie.
    for (const auto& task : inputs.tree.tasks()) {
        processes_.insert(task->pid());
        if (task->leaderEnded())
            actors_.emplace(task->pid(), task->actor());
    }
    impl_->putBack.emplace(guardedFiles_.rollback, [this] { release(files::FinalTaskState::Run); });
}

const model::IdMap& FileCollector::ids() const {
    return namespaces_.nsContext().ids;
}

std::uint32_t FileCollector::networkNumber() const {
    return impl_->kinds.networkNumber();
}

std::optional<std::uint32_t> FileCollector::namespaceNumber(kernel::NamespaceKind kind, std::uint32_t inode) const {
    return namespaces_.numberOf(kind, inode);
}

const files::TreeRoot& FileCollector::treeRoot() const {
    return namespaces_.nsContext().root;
}

FileCollector::~FileCollector() {
    impl_->putBack.reset();
    release(files::FinalTaskState::Run);
}

void FileCollector::prepareKill() {
    impl_->kinds.prepareKill();
}

void FileCollector::release(files::FinalTaskState aftermath) noexcept {
    if (released_)
        return;
    released_ = true;
    impl_->kinds.end(aftermath, log_);
}

/// Returns the key by which identify() groups open file descriptions. identify() calls kcmp(2) only within a group, so
/// a key with more properties saves calls.
FileCollector::Key FileCollector::keyOf(const files::OpenFd& file) {
    Key key{file.stat.st_dev, file.stat.st_ino, file.info.flags & ~unsigned{O_CLOEXEC}, {}};
    if (!file.link.starts_with("anon_inode:"))
        return key;  // without the path, because a rename changes it during the dump
    std::string& name = std::get<std::string>(key);
    name = file.link;
    if (const auto number = file.info.value("eventfd-id"))
        name += *number;
    return key;
}

const FileCollector::Known& FileCollector::identify(const files::OpenFd& file) {
    std::vector<const Known*>& candidates = known_[keyOf(file)];
    // Compares with criu's copy of the descriptor: kcmp(2) checks no permissions for criu's own descriptors.
    const pid_t self = ::getpid();
    std::size_t first = 0;
    for (std::size_t last = candidates.size(); first < last;) {
        const std::size_t middle = first + (last - first) / 2;
        const Known& candidate = *candidates[middle];
        const std::partial_ordering order =
            kernel::kcmpFile(candidate.actor.value, candidate.fd, self, file.copy.get());
        if (order == std::partial_ordering::equivalent)
            return candidate;
        if (order == std::partial_ordering::less)
            first = middle + 1;
        else
            last = middle;
    }

    constexpr std::size_t kPiece = 32;  // new files between two checks, because a check is a system call
    if (described_.size() % kPiece == 0)
        stop_.throwIfRequested();
    const FileKindsDump::Kind& kind = impl_->kinds.of(file);
    auto& entry = *arena_.make<FileEntry>();
    // Registers the description before its fd kind dumps it: a socket may be in flight in its own queue, and is then
    // found here.
    const Known& known = described_.emplace_back(Known{file.actor, file.fd, nextId(), kind.type});
    candidates.insert(candidates.begin() + static_cast<std::ptrdiff_t>(first), &known);
    entry.type = known.type;
    entry.id = known.id.value;
    impl_->kinds.dump(file, kind, entry, *this);
    if (addedLater_.erase(&entry) == 0)
        add(entry);
    return known;
}

void FileCollector::noteServer(files::OpenFd& file) const {
    if (guardedFiles_.devices.contains(file.stat.st_dev))
        file.setServed();
}

FileId FileCollector::addInFlight(UniqueFd fd) {
    // Maximum depth of files in flight that contain other files in flight; each level needs stack. Until Linux 6.10,
    // the kernel limited this depth to four levels (net/unix/garbage.c).
    constexpr int kDeepest = 64;
    if (inFlightDepth_ == kDeepest)
        fail("sockets are in flight in each other's queues more than {} levels deep", kDeepest);
    const struct Level {
        explicit Level(int& counted) : depth(counted) { ++depth; }
        ~Level() { --depth; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        int& depth;
    } level(inFlightDepth_);
    const kernel::ProcPid self = kernel::ProcDir().self();
    files::OpenFd file;
    file.pid = file.actor = HostPid(::getpid());
    file.fd = fd.get();
    file.inFlight = true;
    file.info = kernel::readFdInfo(self, file.fd, impl_->buffer);
    file.copy = std::move(fd);
    readCopy(self, file);
    noteServer(file);
    const std::uint32_t before = lastId_;
    refuseLocks(file);
    impl_->kinds.prepare(file, arena_);
    const FileId id = identify(file).id;
    impl_->locks.add(file, id);
    if (id.value > before)
        impl_->inFlight.push_back(std::move(file.copy));
    return id;
}

void FileCollector::refuseLocks(const files::OpenFd& file) const {
    if (file.info.locks.empty() || options_.fileLocks)
        return;
    Error error(0, fmt::format("{} holds a file lock", file.describe()));
    error.addHint("locks need --file-locks");
    throw error;
}

const FileCollector::Table* FileCollector::tableOf(HostPid process) const {
    const auto actor = actors_.find(process);
    const auto found = tableOf_.find(impl_->sharedTables.firstOf(actor == actors_.end() ? process : actor->second));
    return found == tableOf_.end() ? nullptr : found->second;
}

const FileCollector::Known* FileCollector::inherited(const Table* parent, HostPid actor, int fd) {
    if (parent == nullptr)
        return nullptr;
    const auto at = std::lower_bound(parent->descriptors.begin(), parent->descriptors.end(), fd,
                                     [](const files::SeenFd& seen, int wanted) { return seen.fd < wanted; });
    if (at == parent->descriptors.end() || at->fd != fd ||
        kernel::kcmpFile(at->actor.value, fd, actor.value, fd) != std::partial_ordering::equivalent)
        return nullptr;
    return parent->known[static_cast<std::size_t>(at - parent->descriptors.begin())];
}

/// Returns the open file description of a descriptor, and dumps it if it is new. A dry run collects the error, and then
/// returns `refused_`.
const FileCollector::Known* FileCollector::dumpDescriptor(const files::OpenFd& file) {
    const Known* known = &refused_;
    refusals_.attempt([&] { refuseLocks(file); });
    refusals_.attempt([&] {
        if (file.failure)
            rethrow(file.failure);
        known = &identify(file);
        if (options_.fileLocks)
            impl_->locks.add(file, known->id);
    });
    return known;
}

std::uint32_t FileCollector::addTable(FrozenTask& task) {
    if (const Table* const known = tableOf(task.pid()))
        return known->id;
    const Table* parent = tableOf(HostPid(task.stat.ppid));
    if (parent == nullptr && !tables_.empty())
        parent = &tables_.back();
    const std::uint32_t id = ++lastTable_;
    Table& table = tables_.emplace_back(Table{task.pid(), id, {}, {}});
    tableOf_.emplace(impl_->sharedTables.firstOf(task.actor()), &table);

    DescriptorReader reader(
        task.dir, task.pid(), task.actor(),
        [&](const files::OpenFd& file) {
            return file.info.locks.empty() ? inherited(parent, file.actor, file.fd) : nullptr;
        },
        [this](files::OpenFd& file, Arena& arena) {
            noteServer(file);
            if (!refusals_.collects())
                return impl_->kinds.prepare(file, arena);
            try {
                impl_->kinds.prepare(file, arena);
            } catch (...) {
                file.failure = std::current_exception();
            }
        });
    ImageWriter image = images_.create(ImageKind::Fdinfo, id);
    while (const files::OpenFd* const next = reader.next()) {
        const files::OpenFd& file = *next;
        const auto* known = static_cast<const Known*>(reader.found());
        if (known == nullptr)
            known = dumpDescriptor(file);
        table.descriptors.push_back({file.actor, file.fd, known->id});
        table.known.push_back(known);

        FdinfoEntry entry = FDINFO_ENTRY__INIT;
        entry.id = known->id.value;
        entry.flags = (file.info.flags & O_CLOEXEC) != 0 ? FD_CLOEXEC : 0;
        entry.type = known->type;
        entry.fd = static_cast<std::uint32_t>(file.fd);
        image.write(entry);
    }
    image.finish();
    for (Arena& arena : reader.takeArenas())
        preparedIn_.push_back(std::move(arena));
    return id;
}

FileId FileCollector::addLink(const FrozenTask& task, const std::string& link, std::uint32_t flags, bool wantBuildId) {
    // The processes of a tree usually have the same program and directories, so this needs no descriptor for most
    // links.
    if (!treeRoot().isOwn()) {
        const struct stat target = task.dir.statTarget(link);
        const auto found = knownPaths_.find({target.st_dev, target.st_ino, task.dir.readLink(link), flags, kNoMount});
        if (found != knownPaths_.end())
            return found->second;
    }
    return addLink(task, link, task.dir.open(link, O_PATH), flags, wantBuildId);
}

FileId FileCollector::addLink(const FrozenTask& task, const std::string& link, UniqueFd target, std::uint32_t flags,
                              bool wantBuildId) {
    files::OpenFd file;
    file.pid = task.pid();
    file.actor = task.actor();
    file.link = task.dir.readLink(link);
    file.copy = std::move(target);
    sys(::fstat(file.copy.get(), &file.stat), "stat {}", file.describe());
    file.served = guardedFiles_.devices.contains(file.stat.st_dev);
    return addPathEntry(file, flags, wantBuildId, nullptr);
}

FileId FileCollector::addPath(const files::OpenFd& file, std::uint32_t flags, FownEntry* owner) {
    return addPathEntry(file, flags, false, owner);
}

FileId FileCollector::addPathEntry(const files::OpenFd& file, std::uint32_t flags, bool wantBuildId, FownEntry* owner) {
    const int mount = treeRoot().isOwn() ? kernel::mountIdOf(file.copy.get()).value_or(kNoMount) : kNoMount;
    PathKey key{file.stat.st_dev, file.stat.st_ino, file.link, flags, mount};
    // Open file descriptions with a signal owner have entries of their own, because the owners may differ.
    const bool owned = owner != nullptr && owner->pid != 0;
    if (const auto found = knownPaths_.find(key); !owned && found != knownPaths_.end())
        return found->second;
    auto& entry = *arena_.make<FileEntry>();
    auto& out = *arena_.make<RegFileEntry>();
    const FileId id = nextId();
    entry.type = FD_TYPES__REG;
    entry.id = id.value;
    entry.reg = &out;
    out.id = id.value;
    out.fown = owned ? owner : arena_.make<FownEntry>();
    impl_->kinds.fillPath(file, flags, wantBuildId, out, *this);
    out.pos = 0;
    add(entry);
    if (!owned)
        knownPaths_.emplace(std::move(key), id);
    return id;
}

std::vector<files::SeenFd> FileCollector::seen(dev_t device, ino_t inode) const {
    std::vector<files::SeenFd> found;
    for (auto at = known_.lower_bound(Key{device, inode, 0, {}}); at != known_.end(); ++at) {
        if (std::get<0>(at->first) != device || std::get<1>(at->first) != inode)
            break;
        for (const Known* const known : at->second)
            found.push_back({known->actor, known->fd, known->id});
    }
    return found;
}

FileId FileCollector::open(FdTypes type, dev_t device, ino_t inode) const {
    const auto at = known_.lower_bound(Key{device, inode, 0, {}});
    if (at == known_.end() || std::get<0>(at->first) != device || std::get<1>(at->first) != inode ||
        at->second.empty() || at->second.front()->type != type)
        return {};
    return at->second.front()->id;
}

bool FileCollector::has(FdTypes type, HostPid pid) const {
    const Table* const table = tableOf(pid);
    return table != nullptr && std::any_of(table->known.begin(), table->known.end(),
                                           [type](const Known* known) { return known->type == type; });
}

compel::FrozenProcess* FileCollector::callable(HostPid pid) {
    FrozenTask* const task = impl_->tree.find(pid);
    if (!impl_->mayInject || task == nullptr || !task->alive() || task->compat)
        return nullptr;
    compel::FrozenProcess& process = *task->process;
    // The kernel applies filters again when criu ends, and accepts no signal frame of a thread with a shadow stack.
    if (task->status.seccomp.value_or(kernel::SeccompMode::Disabled) != kernel::SeccompMode::Disabled ||
        process.leader().shadowStackPointer())
        return nullptr;
    return &process;
}

std::span<const files::SeenFd> FileCollector::descriptorsOf(HostPid pid) const {
    const Table* const table = tableOf(pid);
    return table != nullptr ? table->descriptors : std::span<const files::SeenFd>();
}

std::vector<HostPid> FileCollector::users(FileId id) const {
    std::vector<HostPid> found;
    for (const Table& table : tables_)
        if (std::any_of(table.descriptors.begin(), table.descriptors.end(),
                        [id](const files::SeenFd& seen) { return seen.id == id; }))
            found.push_back(table.pid);
    return found;
}

void FileCollector::add(FileEntry& entry) {
    entries_.push_back(&entry);
}

void FileCollector::finish() {
    std::set<int> used;
    for (const Table& table : tables_)
        for (const files::SeenFd& seen : table.descriptors)
            used.insert(seen.fd);
    refusals_.attempt([&] { requireServiceRange(used); });
    impl_->kinds.finish(*this, images_);
    if (!impl_->inFlight.empty())
        refusals_.attempt([&] { refuseWatchedRings(entries_, *this); });
    refusals_.attempt([&] { impl_->locks.finish(images_); });
    ImageWriter image = images_.create(ImageKind::Files);
    for (const FileEntry* const entry : entries_)
        image.write(*entry);
    image.finish();
}

}  // namespace criu::engine
