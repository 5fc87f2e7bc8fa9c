// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore_files.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/engine/file_kinds.hpp"
#include "criu/files/fown.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "criu/kernel/pidfd.hpp"
#include "criu/kernel/terminal.hpp"
#include "criu/namespaces/image_order.hpp"

namespace criu::engine {
namespace {

/// Room for the log, directories, images being read and the like, beside shared descriptions.
constexpr int kServiceRoom = 64;

/// How often and after how many microseconds files that wait for other processes are tried again: 10 seconds.
constexpr int kPostponedTries = 10'000;
constexpr useconds_t kPostponedPause = 1000;

}  // namespace

FilePlan::FilePlan(const model::Options& options, Log& log, const ImageDir& images, RestoreImages& content,
                   const model::BirthPlan& births, const memory::Segments& segments, sockets::NetworkLock& network,
                   device::RestoreDevices& devices)
    : options_(options),
      log_(log),
      images_(images),
      content_(content),
      births_(births),
      devices_(devices),
      kinds_(makeFileKinds({unusedPaths_, remaps_, unusedSegments_, segments, network, nullptr, &devices})) {}

const FileEntry& FilePlan::entry(FileId id) const {
    const auto found = content_.files.find(id);
    if (found == content_.files.end())
        fail("the images refer to file {} but don't have it", id);
    return *found->second;
}

std::vector<const FileEntry*> FilePlan::entries(FdTypes type) const {
    std::vector<const FileEntry*> found;
    for (const auto& [id, entry] : content_.files)
        if (entry->type == type)
            found.push_back(entry.get());
    return found;
}

std::shared_ptr<files::RestoredFile> FilePlan::file(FileId id) {
    auto& known = files_[id];
    if (known)
        return known;
    const FileEntry& wanted = entry(id);
    for (const auto& kind : kinds_) {
        if (kind->type() != wanted.type)
            continue;
        known = kind->collect(wanted, *this);
        return known;
    }
    const ProtobufCEnumValue* const name =
        ::protobuf_c_enum_descriptor_get_value(&fd_types__descriptor, static_cast<int>(wanted.type));
    fail("file {} is of kind {}, which can't be restored yet", id, name != nullptr ? name->name : "?");
}

std::vector<FileId> FilePlan::besides(FileId id) const {
    std::vector<FileId> found;
    for (const auto& task : content_.tree.tasks) {
        if (!task->files || task->files->users.front() != task->pid)
            continue;
        const auto& slots = task->files->slots;
        if (std::any_of(slots.begin(), slots.end(), [&](const model::FdSlot& slot) { return slot.file == id; }))
            for (const model::FdSlot& slot : slots)
                if (std::find(found.begin(), found.end(), slot.file) == found.end())
                    found.push_back(slot.file);
    }
    return found;
}

std::vector<pid_t> FilePlan::users(FileId id) const {
    std::vector<pid_t> found;
    for (const auto& task : content_.tree.tasks)
        if (task->files && std::any_of(task->files->slots.begin(), task->files->slots.end(),
                                       [&](const model::FdSlot& slot) { return slot.file == id; }))
            found.push_back(task->pid);
    return found;
}

pid_t FilePlan::commonCreator(pid_t one, pid_t other) const {
    std::vector<pid_t> path;
    for (pid_t at = one; at != 0; at = births_.of(at).creator)
        path.push_back(at);
    for (pid_t at = other; at != 0; at = births_.of(at).creator)
        if (std::find(path.begin(), path.end(), at) != path.end())
            return at;
    return births_.root().pid;
}

PlannedFile& FilePlan::plan(FileId id, const model::Task& user) {
    const auto object = file(id);
    const auto [at, fresh] = objectIndex_.emplace(object.get(), planned_.size());
    if (fresh) {
        PlannedFile planned;
        planned.file = object;
        planned.opener = planned.completer = user.pid;
        planned.late = object->late();
        planned_.push_back(std::move(planned));
    }
    PlannedFile& planned = planned_[at->second];
    if (planned.late && !object->opensIn(*content_.tree.byPid.at(planned.opener)) && object->opensIn(user))
        planned.opener = user.pid;
    if (plannedIndex_.emplace(id, at->second).second) {
        planned.ids.push_back(id);
        if (planned.late)
            late_.add(id);
    }
    return planned;
}

void FilePlan::make() {
    remaps_.load(images_);
    locks_.load(images_, [this](pid_t pid) {
        const auto task = content_.tree.byPid.find(pid);
        return task != content_.tree.byPid.end() && task->second->alive();
    });
    for (const auto& kind : kinds_)
        kind->prepareRestore(*this);

    for (const auto& task : content_.tree.tasks) {
        if (!task->files || task->files->users.front() != task->pid)
            continue;  // dead, or uses the table of another process
        for (const model::FdSlot& slot : task->files->slots) {
            PlannedFile& planned = inContext([&] { return fmt::format("pid {}: fd {}", task->pid, slot.fd); },
                                             [&]() -> PlannedFile& { return plan(slot.file, *task); });
            holders_.emplace(slot.file, FileHolder{task->pid, slot.fd});
            if (planned.opener != task->pid && !planned.late) {
                planned.opener = commonCreator(planned.opener, task->pid);
                planned.inheritedByOthers = true;
            }
        }
    }
    for (PlannedFile& planned : planned_)
        planSession(planned);
    // What a file needs may need more, and what is used further up must be opened there: until nothing moves any more.
    while (planNeeds()) {
    }
    late_.share();
}

/// A terminal must be there when its session begins.
void FilePlan::planSession(PlannedFile& planned) const {
    const std::optional<pid_t> session = planned.file->session();
    if (!session)
        return;
    const auto leader = content_.tree.byPid.find(*session);
    if (leader == content_.tree.byPid.end() || !leader->second->alive()) {
        if (!births_.root().leadsSession && content_.tree.root().sid == *session)
            planned.controller = births_.root().pid;
        return;
    }
    if (planned.late) {
        if (!planned.file->opensIn(*content_.tree.byPid.at(planned.opener)))
            planned.opener = *session;
        return;
    }
    planned.controller = *session;
    planned.opener = commonCreator(planned.opener, *session);
    planned.inheritedByOthers = true;
}

std::optional<std::uint32_t> FilePlan::networkNumber() const {
    const auto& ids = content_.tree.root().ids;
    return ids ? namespaces::numberOf(**ids, kernel::NamespaceKind::Net) : std::nullopt;
}

pid_t FilePlan::groupFor(pid_t image) const {
    for (const auto& task : content_.tree.tasks)
        if (task->pgid == image && image != 0)
            return births_.of(task->pid).pgid;
    return 0;
}

void FilePlan::handOver(UniqueFd master) const {
    kernel::sendDescriptor(handOverTo_.get(), master.get());
}

UniqueFd FilePlan::handedOver() const {
    return handedOverFrom_ ? kernel::receiveDescriptor(handedOverFrom_.get()) : UniqueFd();
}

void FilePlan::takeTerminal(const ServiceFds& service) {
    if (options_.orphanPtsMaster) {
        int ends[2];
        sys(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), "create a pair of sockets");
        handOverTo_ = service.lift(UniqueFd(ends[0]));
        handedOverFrom_ = service.lift(UniqueFd(ends[1]));
    }
    if (!options_.shellJob)
        return;
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::isatty(fd) != 0) {
            ownTerminal_.reset(sys(::fcntl(fd, F_DUPFD_CLOEXEC, service.first), "keep the terminal of criu"));
            return;
        }
    if (UniqueFd controlling = kernel::openControllingTerminal())
        ownTerminal_ = service.lift(std::move(controlling));
}

/// What needs a file that is opened late is so itself, and in the same process. Whether that changed anything.
bool FilePlan::bindLate(PlannedFile& needed, FileId id, PlannedFile& user) {
    const bool changed = !user.late;
    if (changed) {
        user.late = true;
        user.opener = user.completer;
        user.inheritedByOthers = false;
        for (const FileId own : user.ids)
            late_.add(own);
    }
    if (boundLate_.insert(id).second)
        needed.opener = user.opener;
    return changed;
}

bool FilePlan::planNeeds() {
    bool changed = false;
    for (std::size_t i = 0; i < planned_.size(); ++i) {
        for (const FileId id : planned_[i].file->needs()) {
            const bool fresh = !plannedIndex_.contains(id);
            inFlight_ += fresh ? 1 : 0;
            PlannedFile& needed = plan(id, *content_.tree.byPid.at(planned_[i].completer));
            if (fresh)
                planSession(needed);
            PlannedFile& user = planned_[i];
            if (needed.late) {
                changed = bindLate(needed, id, user) || changed;
                continue;
            }
            if (user.late)
                continue;  // opened when all processes exist, whoever they are
            const pid_t opener = commonCreator(needed.opener, user.opener);
            const bool inherited =
                needed.inheritedByOthers || user.inheritedByOthers || opener != user.opener || opener != needed.opener;
            changed = changed || fresh || opener != needed.opener || inherited != needed.inheritedByOthers;
            needed.opener = opener;
            needed.inheritedByOthers = inherited;
        }
    }
    return changed;
}

const PlannedFile* FilePlan::plannedFor(FileId id) const {
    const auto found = plannedIndex_.find(id);
    return found == plannedIndex_.end() ? nullptr : &planned_[found->second];
}

std::optional<FileHolder> FilePlan::holderOf(FileId id) const {
    if (late_.contains(id))
        return late_.find(id);
    const auto found = holders_.find(id);
    return found == holders_.end() ? std::nullopt : std::optional(found->second);
}

UniqueFd FilePlan::fetch(FileId id) {
    const std::optional<FileHolder> holder = holderOf(id);
    if (!holder)
        fail("no process of the tree has file {}", id);
    if (!fetchFrom_ || fetchFrom_->pid() != holder->pid)
        fetchFrom_.emplace(holder->pid);
    return fetchFrom_->getFd(holder->fd);
}

void FilePlan::begin() {
    for (const auto& kind : kinds_)
        kind->beforeProcesses();
}

void FilePlan::finish() {
    for (const auto& kind : kinds_)
        kind->finishRestore(*this);
    fetchFrom_.reset();
}

ServiceFds FilePlan::chooseServiceFds(int limit) const {
    std::set<int> used{-1};
    std::size_t shared = options_.inheritFds.size();
    for (const auto& [id, table] : content_.tree.fdTables)
        for (const model::FdSlot& slot : table->slots)
            used.insert(slot.fd);
    for (const PlannedFile& planned : planned_)
        shared += planned.inheritedByOthers ? planned.ids.size() : 0;
    shared += inFlight_ + devices_.descriptors();
    const int wanted = kServiceRoom + static_cast<int>(shared) + static_cast<int>(content_.files.size() / 8);

    if (*used.rbegin() >= limit)
        fail("a process has fd {}, but at most {} descriptors are allowed here", *used.rbegin(), limit);
    if (limit - *used.rbegin() - 1 >= wanted)
        return {*used.rbegin() + 1, limit - 1};
    for (auto at = used.begin(); std::next(at) != used.end(); ++at)
        if (*std::next(at) - *at - 1 >= wanted)
            return {*at + 1, *std::next(at) - 1};
    Error error(0, fmt::format("{} free descriptor numbers in a row are needed beside those of the tree", wanted));
    error.addHint(fmt::format("raise the hard limit of open files (ulimit -Hn) above {}", *used.rbegin() + wanted));
    throw error;
}

void FilePlan::takeInherited(const ServiceFds& service) {
    for (const model::InheritMark& mark : options_.inheritMarks)
        if (::write(mark.fd, mark.text.data(), mark.text.size()) < 0)
            failErrno("write the mark of --inherit-fd debug[{}]", mark.fd);
    for (const model::InheritFd& given : options_.inheritFds) {
        UniqueFd copy(
            sys(::fcntl(given.fd, F_DUPFD_CLOEXEC, service.first), "take over fd {} ({})", given.fd, given.name));
        inherited_.emplace(given.name, std::move(copy));
    }
}

int FilePlan::inherited(std::string_view name) const {
    const auto found = inherited_.find(name);
    return found == inherited_.end() ? -1 : found->second.get();
}

void TaskFiles::inheritFrom(const TaskFiles& creator) {
    shared_ = creator.shared_;
}

void TaskFiles::open(const PlannedFile& planned) {
    if (!opened_.insert(planned.file.get()).second)
        return;
    for (const FileId needed : planned.file->needs())
        if (const PlannedFile* const other = plan_.plannedFor(needed); other != nullptr && other->opener == pid_)
            open(*other);
    postponed_ = false;
    inContext([&] { return planned.file->describe(); }, [&] { planned.file->open(*this); });
    if (!postponed_)
        return;
    if (phase_ == Phase::Sharing)
        fail("{} is shared by processes, but can't be opened before others are", planned.file->describe());
    opened_.erase(planned.file.get());
    if (std::find(pending_.begin(), pending_.end(), &planned) == pending_.end())
        pending_.push_back(&planned);
}

/// Tries again; whether any could be opened.
bool TaskFiles::openPostponed() {
    const std::vector<const PlannedFile*> waiting = std::exchange(pending_, {});
    for (const PlannedFile* const planned : waiting)
        open(*planned);
    return pending_.size() < waiting.size();
}

void TaskFiles::openShared() {
    for (const PlannedFile& planned : plan_.planned())
        if (planned.opener == pid_ && planned.inheritedByOthers)
            open(planned);
}

void TaskFiles::beginSession() {
    for (const PlannedFile& planned : plan_.planned())
        if (planned.controller == pid_)
            inContext([&] { return planned.file->describe(); }, [&] { planned.file->beginSession(*this); });
}

void TaskFiles::groupsJoined() {
    for (const PlannedFile& planned : plan_.planned())
        if (planned.controller == pid_)
            inContext([&] { return planned.file->describe(); }, [&] { planned.file->groupsJoined(*this); });
}

bool TaskFiles::leadsTable() const {
    return task_ != nullptr && task_->files && task_->files->users.front() == pid_;
}

void TaskFiles::put(int fd, const model::FdSlot& slot) const {
    sys(::dup3(fd, slot.fd, slot.closeOnExec ? O_CLOEXEC : 0), "put a file at fd {}", slot.fd);
}

void TaskFiles::place() {
    if (!leadsTable())
        return;
    phase_ = Phase::Placing;
    for (const model::FdSlot& slot : task_->files->slots)
        slots_.emplace(slot.file, &slot);
    for (const model::FdSlot& slot : task_->files->slots)
        if (const auto found = shared_.find(slot.file); found != shared_.end()) {
            put(found->second, slot);
            placed_[slot.file] = slot.fd;
        }
    for (const model::FdSlot& slot : task_->files->slots) {
        if (placed_.contains(slot.file))
            continue;
        const PlannedFile* const planned = plan_.plannedFor(slot.file);
        if (planned->late)
            continue;
        open(*planned);
        if (!placed_.contains(slot.file) && pending_.empty())
            fail("fd {}: {} was opened, but not as file {}", slot.fd, planned->file->describe(), slot.file);
    }
    while (!pending_.empty() && openPostponed()) {
    }
}

void TaskFiles::openLate() {
    if (!leadsTable())
        return;
    // What they wait for is being opened by other processes.
    for (int tries = 0; !pending_.empty(); ++tries) {
        if (tries == kPostponedTries)
            fail("{} can't be opened: what it needs isn't there", pending_.front()->file->describe());
        if (!openPostponed())
            ::usleep(kPostponedPause);
    }
    phase_ = Phase::Late;
    for (const PlannedFile& planned : plan_.planned()) {
        if (!planned.late || planned.opener != pid_)
            continue;
        open(planned);
        for (const FileId id : planned.ids)
            plan_.late().announce(id, {pid_, find(id)});
    }
}

void TaskFiles::fetchLate() {
    if (!leadsTable())
        return;
    for (const model::FdSlot& slot : task_->files->slots)
        if (!placed_.contains(slot.file))
            inContext([&] { return fmt::format("fd {}", slot.fd); },
                      [&] { putAll(slot.file, service_.lift(fetch(slot.file))); });
}

void TaskFiles::provide(FileId id, UniqueFd fd) {
    if (phase_ == Phase::Sharing || (phase_ == Phase::Late && !slots_.contains(id)))
        shared_[id] = service_.lift(std::move(fd)).release();
    else
        putAll(id, std::move(fd));
}

void TaskFiles::putAll(FileId id, UniqueFd fd) {
    const auto [first, last] = slots_.equal_range(id);
    if (first == last) {  // in flight only
        shared_[id] = service_.lift(std::move(fd)).release();
        return;
    }
    for (auto at = first; at != last; ++at) {
        const model::FdSlot& slot = *at->second;
        placed_[id] = slot.fd;
        if (fd.get() != slot.fd) {
            put(fd.get(), slot);
            continue;
        }
        if (!slot.closeOnExec)
            sys(::fcntl(slot.fd, F_SETFD, 0), "clear close-on-exec of fd {}", slot.fd);
        else
            sys(::fcntl(slot.fd, F_SETFD, FD_CLOEXEC), "set close-on-exec of fd {}", slot.fd);
    }
    // It may have come to life at one of its numbers: then it stays.
    if (std::any_of(first, last, [&](const auto& at) { return at.second->fd == fd.get(); }))
        (void)fd.release();
}

UniqueFd TaskFiles::fetch(FileId id) {
    if (const int own = find(id); own >= 0)
        return lift(UniqueFd(sys(::fcntl(own, F_DUPFD_CLOEXEC, 0), "copy fd {}", own)));
    const std::optional<FileHolder> holder = plan_.holderOf(id);
    if (!holder)
        fail("no process of the tree has file {}", id);
    return lift(kernel::PidFd(holder->pid).getFd(holder->fd));
}

int TaskFiles::find(FileId id) const {
    if (const auto found = placed_.find(id); found != placed_.end())
        return found->second;
    const auto found = shared_.find(id);
    return found == shared_.end() ? -1 : found->second;
}

UniqueFd TaskFiles::openPath(FileId regular, int flags, files::PathCheck check) const {
    const FileEntry& entry = plan_.entry(regular);
    if (entry.reg == nullptr)
        fail("file {} isn't a path", regular);
    return files::openRegular(*entry.reg, flags, plan_.remaps(), plan_.options(), check);
}

UniqueFd TaskFiles::openPath(FileId regular, int flags) {
    return openPath(regular, flags, files::PathCheck::Same);
}

UniqueFd TaskFiles::openDevice(FileId regular, int flags) {
    return openPath(regular, flags, files::PathCheck::Nothing);
}

UniqueFd TaskFiles::openForMapping(const VmaEntry& vma, int flags) {
    return openPath(FileId{static_cast<std::uint32_t>(vma.shmid)}, flags);
}

memory::MappedDeviceFile TaskFiles::device(const VmaEntry& vma) {
    const FileEntry& entry = plan_.entry(FileId{static_cast<std::uint32_t>(vma.shmid)});
    if (entry.reg == nullptr || entry.reg->name == nullptr)
        fail("file {} isn't a path", entry.id);
    auto where = plan_.devices().relocate({entry.reg->name, vma.start, vma.pgoff});
    return {std::move(where.fd), where.offset};
}

UniqueFd TaskFiles::placedSocket(const VmaEntry& vma) {
    return inContext([&] { return fmt::format("memory at {:#x}", vma.start); },
                     [&] { return fetch(FileId{static_cast<std::uint32_t>(vma.shmid)}); });
}

int TaskFiles::segment(const VmaEntry& vma) {
    return segments_.descriptorFor(vma);
}

const FownEntry* TaskFiles::ownerOf(FileId id) const {
    const PlannedFile* const planned = plan_.plannedFor(id);
    return planned != nullptr ? planned->file->owner(id) : nullptr;
}

void TaskFiles::setLocks() {
    for (const FileLockEntry* const lock : plan_.locks().ofDescriptions(task_->pid)) {
        const auto slot = std::find_if(task_->files->slots.begin(), task_->files->slots.end(),
                                       [&](const model::FdSlot& candidate) { return candidate.fd == lock->fd; });
        if (slot == task_->files->slots.end())
            fail("the images have a {}, which the process doesn't have", files::describeLock(*lock));
        inContext([&] { return plan_.plannedFor(slot->file)->file->describe(); },
                  [&] { files::setDescriptionLock(lock->fd, *lock, ownerOf(slot->file)); });
    }
    for (const FileLockEntry* const lock : plan_.locks().inFlight()) {
        const FileId id{lock->file_id};
        if (const PlannedFile* const planned = plan_.plannedFor(id); planned != nullptr && planned->opener == pid_)
            files::setDescriptionLock(find(id), *lock, ownerOf(id));
    }
}

void TaskFiles::complete() {
    if (task_ == nullptr || !task_->files)
        return;
    if (leadsTable())
        completeFiles();
    setLocks();
}

void TaskFiles::completeFiles() {
    for (const PlannedFile& planned : plan_.planned()) {
        if (planned.completer != pid_)
            continue;
        inContext([&] { return planned.file->describe(); },
                  [&] {
                      planned.file->complete(*this);
                      for (const FileId id : planned.ids)
                          if (const FownEntry* const owner = planned.file->owner(id); owner != nullptr)
                              if (const int fd = find(id); fd >= 0)
                                  files::restoreOwner(fd, *owner);
                  });
    }
}

}  // namespace criu::engine
