// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/file_plan.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/engine/file_kinds.hpp"
#include "criu/files/session_terminal.hpp"
#include "criu/kernel/pidfd.hpp"
#include "criu/memory/vma_status.hpp"
#include "criu/namespaces/image_order.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

/// Room for the log, directories, images being read and the like, beside shared descriptions.
constexpr int kServiceRoom = 64;

/// Whether a late file can be opened in a process.
bool opensIn(files::RestoredFile& file, const model::Task& task) {
    const files::SessionTerminal* const terminal = file.asTerminal();
    return terminal == nullptr || !terminal->opensOnlyInSession() || terminal->session() == task.sid;
}

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
      carriedSockets_(devices),
      terminals_([this](pid_t image) { return groupFor(image); }) {
    const FileRestoreResources with{remaps_, segments, network, carriedSockets_, terminals_, devices};
    for (const FileKind& kind : fileKinds())
        if (kind.startRestore != nullptr)
            kinds_.push_back({kind.type, kind.startRestore(with)});
}

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
    for (const Kind& kind : kinds_)
        if (kind.type == wanted.type) {
            known = kind.half->collect(wanted, *this);
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

pid_t FilePlan::mapperOf(FileId id) const {
    for (const auto& task : content_.tree.tasks)
        if (task->mm)
            for (const VmaEntry* const vma : list((**task->mm).vmas, (**task->mm).n_vmas))
                if (memory::is(*vma, memory::VmaStatus::IoUring) && vma->shmid == id.value)
                    return task->pid;
    const std::vector<pid_t> all = users(id);
    return all.empty() ? 0 : all.front();
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
        planned.inheritedByOthers = !planned.late && object->early();
        planned_.push_back(std::move(planned));
    }
    PlannedFile& planned = planned_[at->second];
    if (planned.late && !opensIn(*object, *content_.tree.byPid.at(planned.opener)) && opensIn(*object, user))
        planned.opener = user.pid;
    if (plannedIndex_.emplace(id, at->second).second) {
        planned.ids.push_back(id);
        if (const auto number = networkOf(entry(id))) {
            if (planned.network != 0 && planned.network != *number)
                fail("{} was in two network namespaces ({} and {}), which can't be restored", object->describe(),
                     planned.network, *number);
            planned.network = *number;
        }
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
    for (const Kind& kind : kinds_)
        kind.half->prepare(*this);

    for (const auto& task : content_.tree.tasks) {
        if (!task->files || task->files->users.front() != task->pid)
            continue;  // dead, or uses the table of another process
        for (const model::FdSlot& slot : task->files->slots) {
            const ErrorContext context([&] { return fmt::format("pid {}: fd {}", task->pid, slot.fd); });
            PlannedFile& planned = plan(slot.file, *task);
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

void FilePlan::planNames(const std::function<std::uint32_t(int mount)>& spaceOf) {
    for (PlannedFile& planned : planned_)
        for (const FileId id : planned.ids) {
            const UnixSkEntry* const socket = entry(id).usk;
            if (socket == nullptr || socket->has_mnt_id == 0)
                continue;
            const std::uint32_t space = spaceOf(socket->mnt_id);
            if (space != 0 && planned.names != 0 && space != planned.names)
                fail("{} and others that belong to it have names in two mount namespaces, which can't be restored",
                     planned.file->describe());
            planned.names = space != 0 ? space : planned.names;
        }
}

/// A terminal must be there when its session begins.
void FilePlan::planSession(PlannedFile& planned) const {
    const files::SessionTerminal* const terminal = planned.file->asTerminal();
    const std::optional<pid_t> session = terminal != nullptr ? terminal->session() : std::nullopt;
    if (!session)
        return;
    const auto leader = content_.tree.byPid.find(*session);
    if (leader == content_.tree.byPid.end() || !leader->second->alive()) {
        if (!births_.root().leadsSession && content_.tree.root().sid == *session)
            planned.controller = births_.root().pid;
        return;
    }
    if (planned.late) {
        if (!opensIn(*planned.file, *content_.tree.byPid.at(planned.opener)))
            planned.opener = *session;
        return;
    }
    planned.controller = *session;
    planned.opener = commonCreator(planned.opener, *session);
    planned.inheritedByOthers = true;
}

std::optional<std::uint32_t> FilePlan::namespaceNumber(kernel::NamespaceKind kind) const {
    const auto& ids = content_.tree.root().ids;
    return ids ? namespaces::numberOf(**ids, kind) : std::nullopt;
}

pid_t FilePlan::groupFor(pid_t image) const {
    for (const auto& task : content_.tree.tasks)
        if (task->pgid == image && image != 0)
            return births_.of(task->pid).pgid;
    return 0;
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
    if (!fetchFrom_ || fetchFrom_->pid() != pids_->outside(holder->pid))
        fetchFrom_.emplace(pids_->outside(holder->pid));
    return fetchFrom_->getFd(holder->fd);
}

void FilePlan::begin() {
    for (const Kind& kind : kinds_)
        kind.half->beforeProcesses();
}

void FilePlan::finish(const PidMap& pids) {
    pids_ = &pids;
    for (const Kind& kind : kinds_)
        kind.half->finish(*this);
    fetchFrom_.reset();
}

ServiceFds FilePlan::chooseServiceFds(int limit, std::size_t more) const {
    std::set<int> used{-1};
    std::size_t shared = options_.inheritFds.size();
    for (const auto& [id, table] : content_.tree.fdTables)
        for (const model::FdSlot& slot : table->slots)
            used.insert(slot.fd);
    for (const PlannedFile& planned : planned_)
        shared += planned.inheritedByOthers ? planned.ids.size() : 0;
    shared += inFlight_ + devices_.descriptors() + more;
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

void FilePlan::takeInherited(kernel::FdStore& store) {
    for (const model::InheritMark& mark : options_.inheritMarks)
        if (::write(mark.fd, mark.text.data(), mark.text.size()) < 0)
            failErrno("write the mark of --inherit-fd debug[{}]", mark.fd);
    for (const model::InheritFd& given : options_.inheritFds) {
        UniqueFd copy(sys(::fcntl(given.fd, F_DUPFD_CLOEXEC, 0), "take over fd {} ({})", given.fd, given.name));
        inherited_.emplace(given.name, store.inherit(kernel::FdKey::Given, std::move(copy)));
    }
}

int FilePlan::inherited(std::string_view name) const {
    const auto found = inherited_.find(name);
    return found == inherited_.end() ? -1 : found->second.get();
}

}  // namespace criu::engine
