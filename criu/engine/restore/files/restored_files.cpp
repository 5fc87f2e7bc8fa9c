// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/restored_files.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/device/device_sockets.hpp"
#include "criu/engine/file_kinds.hpp"
#include "criu/engine/restore/files/f_owner_tid.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/polled_ring.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/files/session_terminal.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/pid_map.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/sockets/external_sockets.hpp"
#include "images/fdinfo.hpp"
#include "images/mm.hpp"
#include "images/sk-unix.hpp"

namespace criu::engine {

RestoredFiles::RestoredFiles(const Inputs& inputs)
    : in_(inputs),
      externalSockets_(makeExternalSocketRestore(in_.devices)),
      terminals_([this](TreePid image) { return groupFor(image); }),
      inherited_(in_.options) {
    const FileRestoreResources with{remaps_,
                                    in_.segments,
                                    in_.network,
                                    *externalSockets_,
                                    terminals_,
                                    in_.devices,
                                    makesIpcNamespace(in_.content, in_.options)};
    for (const FileKind& kind : fileKinds())
        if (kind.startRestore != nullptr)
            kinds_.push_back({kind.type, kind.startRestore(with)});
}

RestoredFiles::~RestoredFiles() = default;

bool RestoredFiles::hasProcess(TreePid pid) const {
    return in_.content.tree.byPid.contains(pid);
}

bool RestoredFiles::isHeld(FileId id) const {
    return holderOf(id).has_value();
}

const FileEntry& RestoredFiles::entry(FileId id) const {
    const auto found = in_.content.files.find(id);
    if (found == in_.content.files.end())
        fail("the images refer to file {} but don't have it", id);
    return *found->second;
}

std::vector<const FileEntry*> RestoredFiles::entries(FdTypes type) const {
    std::vector<const FileEntry*> found;
    for (const auto& [id, entry] : in_.content.files)
        if (entry->type == type)
            found.push_back(entry.get());
    std::sort(found.begin(), found.end(), [](const auto* one, const auto* other) { return one->id < other->id; });
    return found;
}

std::shared_ptr<files::RestoredFile> RestoredFiles::file(FileId id) {
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

std::vector<FileId> RestoredFiles::besides(FileId id) const {
    std::vector<FileId> found;
    for (const auto& task : in_.content.tree.tasks) {
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

std::vector<TreePid> RestoredFiles::users(FileId id) const {
    std::vector<TreePid> found;
    for (const auto& task : in_.content.tree.tasks)
        if (task->files && std::any_of(task->files->slots.begin(), task->files->slots.end(),
                                       [&](const model::FdSlot& slot) { return slot.file == id; }))
            found.push_back(task->pid);
    return found;
}

bool RestoredFiles::isStandardStream(FileId id) const {
    constexpr int kLast = 2;
    return std::any_of(in_.content.tree.tasks.begin(), in_.content.tree.tasks.end(), [&](const auto& task) {
        return task->files &&
               std::any_of(task->files->slots.begin(), task->files->slots.end(),
                           [&](const model::FdSlot& slot) { return slot.file == id && slot.fd <= kLast; });
    });
}

TreePid RestoredFiles::mapperOf(FileId id) const {
    for (const auto& task : in_.content.tree.tasks)
        if (task->mm)
            for (const VmaEntry* const vma : list((**task->mm).vmas, (**task->mm).n_vmas))
                if (memory::is(*vma, memory::VmaStatus::IoUring) && vma->shmid == id.value)
                    return task->pid;
    const std::vector<TreePid> all = users(id);
    return all.empty() ? TreePid() : all.front();
}

std::vector<const files::PolledRing*> RestoredFiles::polledRingsOf(const model::Task& task) const {
    std::vector<const files::PolledRing*> rings;
    if (!task.files || task.files->users.front() != task.pid)
        return rings;
    for (const model::FdSlot& slot : task.files->slots)
        if (const auto at = indexOf(slot.file))
            if (const files::PolledRing* const ring = collected_[*at].file->asPolledRing();
                ring != nullptr && std::find(rings.begin(), rings.end(), ring) == rings.end())
                rings.push_back(ring);
    std::stable_partition(rings.begin(), rings.end(),
                          [](const files::PolledRing* ring) { return ring->threadOwner() == ring->id(); });
    return rings;
}

void RestoredFiles::collect(FileId id) {
    const auto object = file(id);
    const auto [at, fresh] = objects_.emplace(object.get(), collected_.size());
    if (fresh)
        collected_.push_back({object, {}, 0});
    CollectedFile& collected = collected_[at->second];
    if (!indices_.emplace(id, at->second).second)
        return;
    collected.ids.push_back(id);
    const auto number = networkOf(entry(id));
    if (!number)
        return;
    if (collected.network != 0 && collected.network != *number) {
        if (!object->spansNamespaces())
            fail("{} was in two network namespaces ({} and {}), which can't be restored", object->describe(),
                 collected.network, *number);
        collected.severalNetworks = true;
    }
    collected.network = *number;
}

void RestoredFiles::collectAll() {
    for (const auto& task : in_.content.tree.tasks) {
        if (!task->files || task->files->users.front() != task->pid)
            continue;  // a zombie, or a process that uses the table of another process
        for (const model::FdSlot& slot : task->files->slots) {
            const ErrorContext context([&] { return fmt::format("pid {}: fd {}", task->pid, slot.fd); });
            collect(slot.file);
            holders_.emplace(slot.file, FileHolder{task->pid, slot.fd});
        }
    }
    // The loop also visits elements that it appends: a collected socket may have files in flight, and one of these
    // files may be another socket.
    const std::size_t held = indices_.size();
    for (std::size_t at = 0; at < collected_.size(); ++at)
        for (const FileId id : collected_[at].file->needs())
            collect(id);
    inFlight_ = indices_.size() - held;
}

std::vector<model::FileFacts> RestoredFiles::facts() const {
    std::vector<model::FileFacts> all;
    all.reserve(collected_.size());
    for (const CollectedFile& collected : collected_) {
        model::FileFacts& facts = all.emplace_back();
        facts.ids = collected.ids;
        facts.needs = collected.file->needs();
        facts.late = collected.file->late();
        facts.early = collected.file->early();
        if (const files::SessionTerminal* const terminal = collected.file->asTerminal(); terminal != nullptr) {
            facts.session = terminal->session();
            facts.opensOnlyInSession = terminal->opensOnlyInSession();
        }
    }
    return all;
}

std::vector<model::FileUser> RestoredFiles::processes() const {
    std::vector<model::FileUser> all;
    for (const auto& task : in_.content.tree.tasks) {
        if (!task->alive())
            continue;
        model::FileUser& process = all.emplace_back();
        process.pid = task->pid;
        process.sid = task->sid;
        process.hasTable = task->files && task->files->users.front() == task->pid;
        if (process.hasTable)
            for (const model::FdSlot& slot : task->files->slots)
                process.files.push_back(slot.file);
    }
    return all;
}

void RestoredFiles::make() {
    remaps_.load(in_.images);
    locks_.load(in_.images, [this](TreePid pid) {
        const auto task = in_.content.tree.byPid.find(pid);
        return task != in_.content.tree.byPid.end() && task->second->alive();
    });
    for (const Kind& kind : kinds_)
        kind.half->prepare(*this);
    collectAll();
    for (const Kind& kind : kinds_)
        in_.refusals.attempt([&] { kind.half->requireGiven(*this); });
    rights_ = PathRights(in_.content.tree);
    plan_ = model::FilePlan::make(facts(), processes(), in_.births);
    for (std::size_t at = 0; at < collected_.size(); ++at)
        if (plan_.of(at).stage == model::FileStage::Late)
            for (const FileId id : collected_[at].ids)
                late_.add(id);
    late_.share();
    requireReachableOwnerTids(*this);
}

void RestoredFiles::planNames(const std::function<std::uint32_t(int mount)>& spaceOf) {
    for (CollectedFile& collected : collected_)
        for (const FileId id : collected.ids) {
            const UnixSkEntry* const socket = entry(id).usk;
            if (socket == nullptr || socket->has_mnt_id == 0)
                continue;
            const std::uint32_t space = spaceOf(socket->mnt_id);
            if (space != 0 && collected.names != 0 && space != collected.names) {
                if (!collected.file->spansNamespaces())
                    fail("{} and others that belong to it have names in two mount namespaces, which can't be restored",
                         collected.file->describe());
                collected.severalNames = true;
            }
            collected.names = space != 0 ? space : collected.names;
        }
}

std::optional<std::uint32_t> RestoredFiles::namespaceNumber(kernel::NamespaceKind kind) const {
    const auto& ids = in_.content.tree.root().ids;
    return ids ? namespaces::numberOf(**ids, kind) : std::nullopt;
}

TreePid RestoredFiles::groupFor(TreePid image) const {
    for (const auto& task : in_.content.tree.tasks)
        if (task->pgid == image && image)
            return in_.births.of(task->pid).pgid;
    return TreePid();
}

std::optional<std::size_t> RestoredFiles::indexOf(FileId id) const {
    const auto found = indices_.find(id);
    return found == indices_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<FileHolder> RestoredFiles::holderOf(FileId id) const {
    if (late_.contains(id))
        return late_.find(id);
    const auto found = holders_.find(id);
    return found == holders_.end() ? std::nullopt : std::optional(found->second);
}

UniqueFd RestoredFiles::fetch(FileId id) {
    const std::optional<FileHolder> holder = holderOf(id);
    if (!holder)
        fail("no process of the tree has file {}", id);
    if (!fetchFrom_ || fetchFrom_->pid() != pids_->outside(holder->pid).value)
        fetchFrom_.emplace(pids_->outside(holder->pid).value);
    return fetchFrom_->getFd(holder->fd);
}

void RestoredFiles::begin() {
    for (const Kind& kind : kinds_)
        kind.half->beforeProcesses();
}

void RestoredFiles::setOwners(const PidMap& pids, const model::IdMap& ids) {
    pids_ = &pids;
    setOwnerTids(*this, *this, pids, ids);
    fetchFrom_.reset();
}

void RestoredFiles::finish() {
    for (const Kind& kind : kinds_)
        kind.half->finish(*this);
    fetchFrom_.reset();
}

void RestoredFiles::open() {
    for (const Kind& kind : kinds_)
        kind.half->open(*this);
    fetchFrom_.reset();
}

}  // namespace criu::engine
