// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/task_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/engine/restore/files/f_owner_tid.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/files/fown.hpp"
#include "criu/files/memory_registrar.hpp"
#include "criu/files/path_open.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/files/session_terminal.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "images/fdinfo.hpp"
#include "images/fown.hpp"
#include "images/regfile.hpp"

namespace criu::engine {
namespace {

/// Maximum number of attempts to open postponed files. With a pause of kPostponedPause (microseconds) after each, they
/// take 10 seconds.
constexpr int kPostponedTries = 10'000;
constexpr useconds_t kPostponedPause = 1000;

/// Scope in which TaskFiles::opening_ has a value; the destructor sets it to null.
class Opening {
public:
    Opening(const CollectedFile*& note, const CollectedFile& file) : note_(note) { note_ = &file; }
    ~Opening() { note_ = nullptr; }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

private:
    const CollectedFile*& note_;
};

}  // namespace

TaskFiles::TaskFiles(const RestoreRun& run, const model::Task* task, TreePid pid, const model::NestedPidNs* space)
    : all_(run.files),
      service_(run.service),
      segments_(run.segments),
      nsContext_(run.nsContext),
      task_(task),
      pid_(pid),
      space_(space),
      log_(run.log),
      paths_(std::make_unique<files::OpenedPaths>([this](UniqueFd fd) { return toServiceRange(std::move(fd)); })) {}

TaskFiles::~TaskFiles() = default;

const model::Options& TaskFiles::options() const {
    return all_.options();
}

const ImageDir& TaskFiles::images() const {
    return all_.images();
}

const kernel::Usernsd* TaskFiles::usernsd() const {
    return all_.usernsd();
}

UniqueFd TaskFiles::toServiceRange(UniqueFd fd) {
    return service_.moveIn(std::move(fd));
}

UniqueFd TaskFiles::settle(FileId id, UniqueFd fd) {
    const auto [first, last] = slots_.equal_range(id);
    if (std::any_of(first, last, [&](const auto& at) { return at.second->fd == fd.get(); }))
        return fd;
    return toServiceRange(std::move(fd));
}

bool TaskFiles::isHeld(FileId id) const {
    return all_.holderOf(id).has_value();
}

int TaskFiles::inherited(std::string_view name) const {
    return all_.inheritedFds().find(name);
}

pid_t TaskFiles::numberOf(TreePid process) const {
    const pid_t number = model::NestedPids::numberIn(space_, process);
    if (number == 0 && process && all_.hasProcess(process))
        fail("process {} can't be seen from the pid namespace of process {}", process, pid_);
    return number;
}

void TaskFiles::inheritFrom(const TaskFiles& creator) {
    shared_ = creator.shared_;
}

void TaskFiles::openAll(model::FileStage stage) {
    for (const std::size_t file : all_.plan().openedBy(pid_, stage))
        open(file);
    paths_->clear();
}

void TaskFiles::open(std::size_t index) {
    const CollectedFile& collected = all_.at(index);
    files::RestoredFile& file = *collected.file;
    postponed_ = false;
    {
        const ErrorContext context([&] { return file.describe(); });
        const Opening whose(opening_, collected);
        const namespaces::MoveFd move = [this](UniqueFd fd) { return toServiceRange(std::move(fd)); };
        nsContext_.inSocketNetNs(collected.severalNetworks ? 0 : collected.network, move, [&] {
            nsContext_.inSocketNameNs(collected.severalNames ? 0 : collected.names, move, [&] { file.open(*this); });
        });
    }
    if (!postponed_)
        return;
    if (phase_ == Phase::Sharing)
        fail("{} is shared by processes, but can't be opened before others are", file.describe());
    pending_.push_back(index);
}

void TaskFiles::inNetwork(std::uint32_t number, const std::function<void()>& work) {
    if (opening_ == nullptr || !opening_->severalNetworks)
        return work();
    nsContext_.inSocketNetNs(
        number, [this](UniqueFd fd) { return toServiceRange(std::move(fd)); }, work);
}

void TaskFiles::onMount(int mount, const std::function<void()>& work) {
    if (opening_ == nullptr || !opening_->severalNames)
        return work();
    nsContext_.inSocketNameNs(
        nsContext_.mountSpaceOf(mount), [this](UniqueFd fd) { return toServiceRange(std::move(fd)); }, work);
}

/// Tries to open all postponed files. Returns true if at least one was opened.
bool TaskFiles::openPostponed() {
    const std::vector<std::size_t> waiting = std::exchange(pending_, {});
    for (const std::size_t file : waiting)
        open(file);
    paths_->clear();
    return pending_.size() < waiting.size();
}

void TaskFiles::openShared() {
    openAll(model::FileStage::BeforeChildren);
}

void TaskFiles::beginSession() {
    for (const std::size_t index : all_.plan().controlledBy(pid_)) {
        files::RestoredFile& file = *all_.at(index).file;
        const ErrorContext context([&] { return file.describe(); });
        file.asTerminal()->beginSession(*this);
    }
}

void TaskFiles::groupsJoined() {
    for (const std::size_t index : all_.plan().controlledBy(pid_)) {
        files::RestoredFile& file = *all_.at(index).file;
        const ErrorContext context([&] { return file.describe(); });
        file.asTerminal()->groupsJoined(*this);
    }
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
    openAll(model::FileStage::AfterChildren);
    for (const model::FdSlot& slot : task_->files->slots)
        if (!placed_.contains(slot.file) && pending_.empty() && !all_.late().contains(slot.file))
            fail("fd {}: {} was opened, but not as file {}", slot.fd, describe(slot.file), slot.file);
    while (!pending_.empty() && openPostponed()) {
    }
}

void TaskFiles::openLate() {
    if (!leadsTable())
        return;
    // Repeats the attempts, because a postponed file may depend on files that other processes are opening.
    for (int tries = 0; !pending_.empty(); ++tries) {
        if (tries == kPostponedTries)
            fail("{} can't be opened: what it needs isn't there", all_.at(pending_.front()).file->describe());
        if (!openPostponed())
            ::usleep(kPostponedPause);
    }
    phase_ = Phase::Late;
    openAll(model::FileStage::Late);
    for (const std::size_t file : all_.plan().openedBy(pid_, model::FileStage::Late))
        for (const FileId id : all_.at(file).ids)
            all_.late().announce(id, {pid_, find(id)});
}

void TaskFiles::fetchLate() {
    if (!leadsTable())
        return;
    for (const model::FdSlot& slot : task_->files->slots)
        if (!placed_.contains(slot.file)) {
            const ErrorContext context([&] { return fmt::format("fd {}", slot.fd); });
            putAll(slot.file, service_.moveIn(fetch(slot.file)));
        }
}

void TaskFiles::provide(FileId id, UniqueFd fd) {
    if (phase_ == Phase::Sharing || (phase_ == Phase::Late && !slots_.contains(id)))
        shared_[id] = service_.moveIn(std::move(fd)).release();
    else
        putAll(id, std::move(fd));
}

void TaskFiles::putAll(FileId id, UniqueFd fd) {
    const auto [first, last] = slots_.equal_range(id);
    if (first == last) {  // no process has a descriptor, because the description is only in flight
        shared_[id] = service_.moveIn(std::move(fd)).release();
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
    // If the descriptor already has one of its final numbers, releases it, because the destructor of `fd` would close
    // it.
    if (std::any_of(first, last, [&](const auto& at) { return at.second->fd == fd.get(); }))
        (void)fd.release();
}

UniqueFd TaskFiles::fetch(FileId id) {
    if (const int own = find(id); own >= 0)
        return toServiceRange(UniqueFd(sys(::fcntl(own, F_DUPFD_CLOEXEC, 0), "copy fd {}", own)));
    const std::optional<FileHolder> holder = all_.holderOf(id);
    if (!holder)
        fail("no process of the tree has file {}", id);
    return toServiceRange(kernel::PidFd(numberOf(holder->pid)).getFd(holder->fd));
}

int TaskFiles::find(FileId id) const {
    if (const auto found = placed_.find(id); found != placed_.end())
        return found->second;
    const auto found = shared_.find(id);
    return found == shared_.end() ? -1 : found->second;
}

int TaskFiles::descriptorOf(FileId id) const {
    if (const int fd = find(id); fd >= 0)
        return fd;
    // If several processes share the descriptor table, another of them may have filled it.
    const auto& slots = task_->files->slots;
    const auto slot = std::find_if(slots.begin(), slots.end(), [id](const model::FdSlot& at) { return at.file == id; });
    return slot == slots.end() ? -1 : slot->fd;
}

void TaskFiles::addMemorySteps(pie::StepList& steps, pie::RemoteData& data) const {
    for (std::size_t file = 0; file < all_.count(); ++file)
        if (const files::MemoryRegistrar* const registrar = all_.at(file).file->asMemoryRegistrar();
            registrar != nullptr && all_.mapperOf(registrar->registrar()) == pid_)
            registrar->addMemorySteps(descriptorOf(registrar->registrar()), steps, data);
}

/// Returns the owner of an open file description. Its pid is in the pid namespace of this process. Returns nullopt if
/// the owner is a thread id, because the coordinator sets such an owner later.
std::optional<FownEntry> TaskFiles::ownerOf(FileId id) const {
    const auto file = all_.indexOf(id);
    const FownEntry* const owner = file ? all_.at(*file).file->owner(id) : nullptr;
    if (owner == nullptr || isOwnedByTid(all_, id))
        return std::nullopt;
    FownEntry here = *owner;
    here.pid = static_cast<std::uint32_t>(numberOf(TreePid(static_cast<pid_t>(owner->pid))));
    return here;
}

std::string TaskFiles::describe(FileId id) const {
    const auto file = all_.indexOf(id);
    return file ? all_.at(*file).file->describe() : fmt::format("file {}", id);
}

void TaskFiles::setLocks() {
    for (const FileLockEntry* const lock : all_.locks().ofDescriptions(task_->pid)) {
        const auto slot = std::find_if(task_->files->slots.begin(), task_->files->slots.end(),
                                       [&](const model::FdSlot& candidate) { return candidate.fd == lock->fd; });
        if (slot == task_->files->slots.end())
            fail("the images have a {}, which the process doesn't have", files::describeLock(*lock));
        const ErrorContext context([&] { return describe(slot->file); });
        files::setDescriptionLock(lock->fd, *lock, ownerOf(slot->file));
    }
    for (const FileLockEntry* const lock : all_.locks().inFlight()) {
        const FileId id{lock->file_id};
        if (const auto file = all_.indexOf(id); file && all_.plan().of(*file).opener == pid_)
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
    for (const std::size_t index : all_.plan().completedBy(pid_)) {
        const CollectedFile& collected = all_.at(index);
        files::RestoredFile& file = *collected.file;
        const ErrorContext context([&] { return file.describe(); });
        file.complete(*this);
        for (const FileId id : collected.ids)
            if (const FownEntry* const owner = file.owner(id); owner != nullptr)
                if (const int fd = find(id); fd >= 0) {
                    if (isOwnedByTid(all_, id))
                        files::restoreSignal(fd, *owner);
                    else
                        files::restoreOwner(fd, *ownerOf(id));
                }
    }
}

std::vector<kernel::FileRights> TaskFiles::usersOf(FileId id) const {
    return all_.rights().of({&id, 1});
}

const kernel::Usernsd* TaskFiles::usernsdForPaths() const {
    return all_.options().untrusted ? nullptr : all_.usernsd();
}

UniqueFd TaskFiles::openPath(FileId regular, int flags, files::PathCheck check) {
    const FileEntry& entry = all_.entry(regular);
    if (entry.reg == nullptr)
        fail("file {} isn't a path", regular);
    const std::vector<kernel::FileRights> users =
        opening_ != nullptr ? all_.rights().of(opening_->ids) : all_.rights().of(pid_);
    return files::openRegular(
        *entry.reg, flags, all_.remaps(),
        {users, check, all_.options(), usernsdForPaths(), opening_ != nullptr ? paths_.get() : nullptr});
}

UniqueFd TaskFiles::openForMapping(const VmaEntry& vma, int flags) {
    return openPath(FileId{static_cast<std::uint32_t>(vma.shmid)}, flags);
}

memory::MappedDeviceFile TaskFiles::device(const VmaEntry& vma) {
    const FileEntry& entry = all_.entry(FileId{static_cast<std::uint32_t>(vma.shmid)});
    if (entry.reg == nullptr || entry.reg->name == nullptr)
        fail("file {} isn't a path", entry.id);
    auto where = all_.devices().relocate({entry.reg->name, vma.start, vma.pgoff});
    return {std::move(where.fd), where.offset, where.skipped, where.whole};
}

UniqueFd TaskFiles::placedSocket(const VmaEntry& vma) {
    const ErrorContext context([&] { return fmt::format("memory at {:#x}", vma.start); });
    return fetch(FileId{static_cast<std::uint32_t>(vma.shmid)});
}

std::optional<int> TaskFiles::placedRing(const VmaEntry& vma) {
    const FileId id{static_cast<std::uint32_t>(vma.shmid)};
    if (const auto file = all_.indexOf(id); file && all_.at(*file).file->asPolledRing() != nullptr)
        return std::nullopt;
    const int fd = descriptorOf(id);
    if (fd < 0)
        fail("memory at {:#x} is mapped from file {}, which the process doesn't have", vma.start, id);
    return fd;
}

int TaskFiles::segment(const VmaEntry& vma) {
    return segments_.descriptorFor(vma);
}

}  // namespace criu::engine
