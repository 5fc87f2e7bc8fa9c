// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/restored_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/device/device_sockets.hpp"
#include "criu/engine/file_kinds.hpp"
#include "criu/engine/restore/files/path_rights.hpp"
#include "criu/engine/restore/files/retried_files.hpp"
#include "criu/engine/restore/files/service_fds.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_locks.hpp"
#include "criu/files/regular.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/files/session_terminal.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/file_plan.hpp"
#include "criu/model/options.hpp"
#include "criu/model/pid_map.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/sockets/external_sockets.hpp"
#include "criu/tty/outside_terminals.hpp"
#include "images/fdinfo.hpp"
#include "images/mm.hpp"
#include "images/sk-unix.hpp"

namespace criu::engine {
namespace {}  // namespace

/// Members whose types only this source includes.
struct RestoredFiles::Impl {
    template <typename GroupFor>
    Impl(std::unique_ptr<sockets::ExternalSocketRestore> carried, GroupFor groupFor)
        : carriedSockets(std::move(carried)), terminals(std::move(groupFor)) {}

    /// Restore half of an fd kind, and the kind's type in images.
    struct Kind {
        FdTypes type = FD_TYPES__UND;
        std::unique_ptr<files::FileKindRestore> half;
    };

    files::PathRemaps remaps;
    files::LockRestore locks;
    std::unique_ptr<sockets::ExternalSocketRestore> carriedSockets;
    tty::OutsideTerminals terminals;
    std::vector<Kind> kinds;
    model::FilePlan plan;
    std::unordered_map<FileId, FileHolder> holders;
    RetriedFiles late;
    PathRights rights;
    std::optional<kernel::PidFd> fetchFrom;  ///< process that fetch() used last, during finish()
};

RestoredFiles::RestoredFiles(const model::Options& options, Log& log, const ImageDir& images, RestoreImages& content,
                             const model::BirthPlan& births, const memory::Segments& segments,
                             sockets::NetworkLock& network, device::RestoreDevices& devices)
    : options_(options),
      log_(log),
      images_(images),
      content_(content),
      births_(births),
      devices_(devices),
      impl_(std::make_unique<Impl>(makeExternalSocketRestore(devices),
                                   [this](TreePid image) { return groupFor(image); })) {
    const FileRestoreResources with{impl_->remaps,
                                    segments,
                                    network,
                                    *impl_->carriedSockets,
                                    impl_->terminals,
                                    devices,
                                    makesIpcNamespace(content, options)};
    for (const FileKind& kind : fileKinds())
        if (kind.startRestore != nullptr)
            impl_->kinds.push_back({kind.type, kind.startRestore(with)});
}

RestoredFiles::~RestoredFiles() = default;

tty::OutsideTerminals& RestoredFiles::terminals() noexcept {
    return impl_->terminals;
}

const files::PathRemaps& RestoredFiles::remaps() const noexcept {
    return impl_->remaps;
}

const model::FilePlan& RestoredFiles::plan() const noexcept {
    return impl_->plan;
}

const PathRights& RestoredFiles::rights() const noexcept {
    return impl_->rights;
}

const RetriedFiles& RestoredFiles::late() const noexcept {
    return impl_->late;
}

const files::LockRestore& RestoredFiles::locks() const noexcept {
    return impl_->locks;
}

bool RestoredFiles::hasProcess(TreePid pid) const {
    return content_.tree.byPid.contains(pid);
}

bool RestoredFiles::isHeld(FileId id) const {
    return holderOf(id).has_value();
}

const FileEntry& RestoredFiles::entry(FileId id) const {
    const auto found = content_.files.find(id);
    if (found == content_.files.end())
        fail("the images refer to file {} but don't have it", id);
    return *found->second;
}

std::vector<const FileEntry*> RestoredFiles::entries(FdTypes type) const {
    std::vector<const FileEntry*> found;
    for (const auto& [id, entry] : content_.files)
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
    for (const Impl::Kind& kind : impl_->kinds)
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

std::vector<TreePid> RestoredFiles::users(FileId id) const {
    std::vector<TreePid> found;
    for (const auto& task : content_.tree.tasks)
        if (task->files && std::any_of(task->files->slots.begin(), task->files->slots.end(),
                                       [&](const model::FdSlot& slot) { return slot.file == id; }))
            found.push_back(task->pid);
    return found;
}

bool RestoredFiles::isStandardStream(FileId id) const {
    constexpr int kLast = 2;
    return std::any_of(content_.tree.tasks.begin(), content_.tree.tasks.end(), [&](const auto& task) {
        return task->files &&
               std::any_of(task->files->slots.begin(), task->files->slots.end(),
                           [&](const model::FdSlot& slot) { return slot.file == id && slot.fd <= kLast; });
    });
}

TreePid RestoredFiles::mapperOf(FileId id) const {
    for (const auto& task : content_.tree.tasks)
        if (task->mm)
            for (const VmaEntry* const vma : list((**task->mm).vmas, (**task->mm).n_vmas))
                if (memory::is(*vma, memory::VmaStatus::IoUring) && vma->shmid == id.value)
                    return task->pid;
    const std::vector<TreePid> all = users(id);
    return all.empty() ? TreePid() : all.front();
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
    for (const auto& task : content_.tree.tasks) {
        if (!task->files || task->files->users.front() != task->pid)
            continue;  // zombie, or uses the table of another process
        for (const model::FdSlot& slot : task->files->slots) {
            const ErrorContext context([&] { return fmt::format("pid {}: fd {}", task->pid, slot.fd); });
            collect(slot.file);
            impl_->holders.emplace(slot.file, FileHolder{task->pid, slot.fd});
        }
    }
    // The list grows in the loop: it has the files in flight in sockets, then the files in flight in those.
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
    for (const auto& task : content_.tree.tasks) {
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
    impl_->remaps.load(images_);
    impl_->locks.load(images_, [this](TreePid pid) {
        const auto task = content_.tree.byPid.find(pid);
        return task != content_.tree.byPid.end() && task->second->alive();
    });
    for (const Impl::Kind& kind : impl_->kinds)
        kind.half->prepare(*this);
    collectAll();
    for (const Impl::Kind& kind : impl_->kinds)
        kind.half->requireGiven(*this);
    impl_->rights = PathRights(content_.tree);
    impl_->plan = model::FilePlan::make(facts(), processes(), births_);
    for (std::size_t at = 0; at < collected_.size(); ++at)
        if (impl_->plan.of(at).stage == model::FileStage::Late)
            for (const FileId id : collected_[at].ids)
                impl_->late.add(id);
    impl_->late.share();
    requireReachableOwnerTids();
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
    const auto& ids = content_.tree.root().ids;
    return ids ? namespaces::numberOf(**ids, kind) : std::nullopt;
}

TreePid RestoredFiles::groupFor(TreePid image) const {
    for (const auto& task : content_.tree.tasks)
        if (task->pgid == image && image)
            return births_.of(task->pid).pgid;
    return TreePid();
}

std::optional<std::size_t> RestoredFiles::indexOf(FileId id) const {
    const auto found = indices_.find(id);
    return found == indices_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<FileHolder> RestoredFiles::holderOf(FileId id) const {
    if (impl_->late.contains(id))
        return impl_->late.find(id);
    const auto found = impl_->holders.find(id);
    return found == impl_->holders.end() ? std::nullopt : std::optional(found->second);
}

UniqueFd RestoredFiles::fetch(FileId id) {
    const std::optional<FileHolder> holder = holderOf(id);
    if (!holder)
        fail("no process of the tree has file {}", id);
    if (!impl_->fetchFrom || impl_->fetchFrom->pid() != pids_->outside(holder->pid).value)
        impl_->fetchFrom.emplace(pids_->outside(holder->pid).value);
    return impl_->fetchFrom->getFd(holder->fd);
}

void RestoredFiles::begin() {
    for (const Impl::Kind& kind : impl_->kinds)
        kind.half->beforeProcesses();
}

void RestoredFiles::finish(const PidMap& pids, const model::IdMap& ids) {
    pids_ = &pids;
    setOwnerTids(ids);
    for (const Impl::Kind& kind : impl_->kinds)
        kind.half->finish(*this);
    impl_->fetchFrom.reset();
}

void RestoredFiles::noteLinks() {
    impl_->remaps.noteLinks(*this);
}

void RestoredFiles::createDeleted(const model::IdMap& ids, kernel::FdStore& store) {
    impl_->remaps.create(*this, ids, store);
}

void RestoredFiles::setMounts(files::HiddenMounts hidden, files::MountLinker linker) {
    impl_->remaps.setMounts(std::move(hidden), std::move(linker));
}

void RestoredFiles::removeLinks() const noexcept {
    impl_->remaps.removeLinks(log_);
}

/// Returns the maximum number of service descriptors.
std::size_t RestoredFiles::serviceDescriptors(std::size_t more) const {
    std::size_t shared = options_.inheritFds.size() + impl_->remaps.count();
    for (std::size_t at = 0; at < collected_.size(); ++at)
        shared += impl_->plan.of(at).stage == model::FileStage::BeforeChildren ? collected_[at].ids.size() : 0;
    return kServiceRoom + shared + inFlight_ + more + content_.files.size() / 8;
}

ServiceFds RestoredFiles::chooseServiceFds(std::size_t more, const std::function<int(std::size_t)>& allow) const {
    std::set<int> used;
    for (const auto& [id, table] : content_.tree.fdTables)
        for (const model::FdSlot& slot : table->slots)
            used.insert(slot.fd);
    const int highest = used.empty() ? -1 : *used.rbegin();
    const auto wanted = static_cast<int>(serviceDescriptors(more));
    const int limit = allow(static_cast<std::size_t>(highest + 1 + wanted));
    if (highest >= limit)
        fail("a process has fd {}, but at most {} descriptors are allowed here", highest, limit);
    const auto room = [](const ServiceFds& range) { return range.last - range.first + 1; };
    if (const ServiceFds above{highest + 1, limit - 1}; room(above) >= wanted)
        return above;
    const ServiceFds widest = widestRange(used, limit);
    // The wanted number is an upper bound; usually fewer descriptors are open at the same time.
    if (room(widest) >= kServiceRoom)
        return widest;
    Error error(0, fmt::format("{} free descriptor numbers in a row are needed beside those of the tree", wanted));
    error.addHint(fmt::format("raise the hard limit of open files (ulimit -Hn) above {}", highest + wanted));
    throw error;
}

void RestoredFiles::takeInherited(kernel::FdStore& store) {
    for (const model::InheritMark& mark : options_.inheritMarks)
        if (::write(mark.fd, mark.text.data(), mark.text.size()) < 0)
            failErrno("write the mark of --inherit-fd debug[{}]", mark.fd);
    for (const model::InheritFd& given : options_.inheritFds) {
        UniqueFd copy(sys(::fcntl(given.fd, F_DUPFD_CLOEXEC, 0), "take over fd {} ({})", given.fd, given.name));
        inherited_.emplace(given.name, store.inherit(kernel::FdKey::Given, std::move(copy)));
    }
}

int RestoredFiles::inherited(std::string_view name) const {
    const auto found = inherited_.find(name);
    return found == inherited_.end() ? -1 : found->second.get();
}

}  // namespace criu::engine
