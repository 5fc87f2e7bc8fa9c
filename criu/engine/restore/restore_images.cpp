// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/restore_images.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/thread_lanes.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/dump/tasks/nested_pids.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/record_pool.hpp"
#include "criu/image/text_rules.hpp"
#include "criu/memory/mappings/vma_overlap_check.hpp"
#include "criu/memory/pages/page_extensions.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/ipc/posix_queues.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/task/seccomp.hpp"
#include "criu/task/thread_state.hpp"
#include "images/core.hpp"
#include "images/fdinfo.hpp"
#include "images/fs.hpp"
#include "images/inventory.hpp"
#include "images/mm.hpp"
#include "images/pstree.hpp"
#include "images/seccomp.hpp"

namespace criu::engine {
namespace {

using model::FdSlot;
using model::FdTable;
using model::ProcessTree;
using model::Task;
using model::TaskState;

/// Minimum number of threads in a process for which several threads of criu read its core images.
constexpr std::size_t kManyThreads = 256;

/// Minimum number of processes whose images are worth another lane of threads.
constexpr std::size_t kProcessesOfReader = 16;

/// Maximum number of lanes. Each lane has a heap and a RecordPool, and the mappings of both make the later births of
/// processes slower.
constexpr std::size_t kMostReaders = 4;

void readInventory(ImageDir& images, RestoreImages& out) {
    auto file = images.openRead(ImageKind::Inventory);
    if (!file)
        failWith(ENOENT, "no complete checkpoint in {}: there is no {}, which a dump writes last", images.name(),
                 imageName(ImageKind::Inventory));
    out.inventory = file->only<InventoryEntry>();
    const InventoryEntry& inventory = **out.inventory;
    if (inventory.img_version == 0)
        fail("the images in {} are of a pre-dump: they hold memory only (restore the dump at the end of the chain)",
             images.name());
    const bool extended = inventory.img_version == kExtendedVersion || inventory.img_version == kCompressedVersion;
    if (!extended && inventory.img_version > static_cast<std::uint32_t>(ImageVersion::V1_1))
        fail("the images in {} have version {}, which is newer than this criu", images.name(), inventory.img_version);
    constexpr std::array<std::string_view, 8> known{memory::kStripedPages,
                                                    memory::kFilesPages,
                                                    memory::kDevicePages,
                                                    memory::kCompressedPages,
                                                    namespaces::kPosixQueues,
                                                    namespaces::kNonRootNsExtension,
                                                    namespaces::kNestedPidNamespaces,
                                                    model::kUnsharedThreads};
    for (const std::string_view extension : list(inventory.extensions, inventory.n_extensions)) {
        if (extension == kEncrypted)
            fail("the images in {} are encrypted, which this command doesn't undo", images.name());
        if (std::find(known.begin(), known.end(), extension) == known.end())
            fail("the images in {} have something that this criu doesn't know: {}", images.name(), extension);
    }
    if (inventory.has_fdinfo_per_id == 0 || inventory.fdinfo_per_id == 0)
        fail("the images in {} are too old: descriptor tables aren't kept by id", images.name());
    // Checks the run id and the lock method, because the images aren't trusted: the run id becomes part of nft
    // commands.
    const std::string name = imageName(ImageKind::Inventory);
    if (inventory.dump_criu_run_id != nullptr && !isRunId(inventory.dump_criu_run_id))
        fail("{}: dump_criu_run_id \"{}\" is no id of a dump", name, inventory.dump_criu_run_id);
    if (inventory.has_network_lock_method != 0) {
        const ErrorContext context([&] { return name + ": network_lock_method"; });
        (void)sockets::networkLockMethod(inventory.network_lock_method);
    }
    images.setVersion(extended ? ImageVersion::V1_1 : static_cast<ImageVersion>(inventory.img_version));
}

TreePid parentThreadOf(const PstreeEntry& entry, const Task& parent) {
    const TreePid thread(static_cast<pid_t>(entry.has_parent_thread != 0 ? entry.parent_thread : 0));
    if (!thread || thread == parent.pid)
        return {};
    if (std::none_of(parent.threads.begin(), parent.threads.end(),
                     [&](const auto& each) { return each.tid == thread; }))
        fail("process {} is a child of thread {}, which process {} doesn't have", entry.pid, thread, parent.pid);
    return thread;
}

void readTree(const ImageDir& images, ProcessTree& tree) {
    ImageReader reader = images.openRequired(ImageKind::Pstree);
    while (const auto entry = reader.next<PstreeEntry>()) {
        const PstreeEntry& in = **entry;
        auto task = std::make_unique<Task>();
        task->pid = TreePid(static_cast<pid_t>(in.pid));
        task->ppid = TreePid(static_cast<pid_t>(in.ppid));
        task->pgid = TreePid(static_cast<pid_t>(in.pgid));
        task->sid = TreePid(static_cast<pid_t>(in.sid));
        for (std::size_t i = 0; i < in.n_threads; ++i)
            task->threads.push_back({TreePid(static_cast<pid_t>(in.threads[i])), std::nullopt});
        // Moves the leader to the start of the list, because an image may list threads in any order.
        const auto leader = std::find_if(task->threads.begin(), task->threads.end(),
                                         [&](const model::Thread& thread) { return thread.tid == task->pid; });
        if (task->pid <= TreePid())
            fail("{}: {} is no pid", reader.name(), in.pid);
        if (leader != task->threads.end()) {
            std::iter_swap(task->threads.begin(), leader);
        } else {  // a zombie has no threads
            task->threads.clear();
            task->threads.push_back({task->pid, std::nullopt});
            task->state = TaskState::Dead;
        }
        if (in.ppid == 0) {
            if (!tree.tasks.empty())
                fail("{}: processes {} and {} both claim to be the root", reader.name(), tree.root().pid, in.pid);
        } else {
            const auto parent = tree.byPid.find(task->ppid);
            if (parent == tree.byPid.end())
                fail("{}: parent {} of process {} doesn't come before it", reader.name(), in.ppid, in.pid);
            task->parent = parent->second;
            task->parentThread = parentThreadOf(in, *parent->second);
            parent->second->children.push_back(task.get());
        }
        if (!tree.byPid.emplace(task->pid, task.get()).second)
            fail("{}: process {} is there twice", reader.name(), in.pid);
        tree.tasks.push_back(std::move(task));
    }
    if (tree.tasks.empty())
        fail("{} holds no process", reader.name());
}

/// Reads the only record of an image, and stores it in `records`.
template <Message T>
Record<T> readInto(RecordPool& records, const ImageDir& images, ImageKind kind, std::uint64_t id) {
    ImageReader reader = images.openRequired(kind, id);
    reader.storeIn(records);
    return reader.only<T>();
}

/// Throws Error if the image of a thread has no credentials, because the restored thread would have criu's credentials.
void requireThreadPart(const model::Thread& thread) {
    const ThreadCoreEntry* const own = (*thread.core)->thread_core;
    if (own == nullptr)
        fail("the core image of thread {} has no thread part", thread.tid);
    if (own->creds == nullptr)
        fail("the core image of thread {} has no credentials", thread.tid);
}

/// Pools for the records of a lane.
struct LanePools {
    RecordPool& first;
    const std::function<RecordPool&()>& another;  ///< creates a pool; any thread may call it
};

void readCores(const ImageDir& images, const LanePools& records, Task& task) {
    const auto readOne = [&](model::Thread& thread, RecordPool& into) {
        thread.core = readInto<CoreEntry>(into, images, ImageKind::Core, static_cast<std::uint64_t>(thread.tid.value));
    };
    if (task.threads.size() < kManyThreads) {
        for (model::Thread& thread : task.threads)
            readOne(thread, records.first);
    } else {
        ThreadPool pool(availableCores());
        for (std::size_t first = 0; first < task.threads.size(); first += kManyThreads)
            pool.submit([&, first, &into = records.another()] {
                const std::size_t end = std::min(first + kManyThreads, task.threads.size());
                for (std::size_t i = first; i < end; ++i)
                    readOne(task.threads[i], into);
            });
        pool.wait();
    }

    const CoreEntry& core = task.core();
    if (core.tc == nullptr)
        fail("the core image of process {} has no process part", task.pid);
    const bool mustBeDead = task.state == TaskState::Dead;
    task.state = static_cast<TaskState>(core.tc->task_state);
    if (mustBeDead && task.alive())
        fail("process {} is alive but its leader isn't among its threads", task.pid);
    if (task.state != TaskState::Alive && task.state != TaskState::Dead && task.state != TaskState::Stopped)
        fail("process {} has unknown state {}", task.pid, core.tc->task_state);
    if (!task.alive())
        return;
    for (const model::Thread& thread : task.threads)
        requireThreadPart(thread);
    task.leaderEnded = task::hasEndedLeader(task);
}

void readFdTable(const ImageDir& images, FdTable& table) {
    ImageReader reader = images.openRequired(ImageKind::Fdinfo, table.id);
    while (const auto entry = reader.next<FdinfoEntry>()) {
        const FdinfoEntry& in = **entry;
        constexpr std::uint32_t kCloseOnExec = 1;  // FD_CLOEXEC
        constexpr std::uint32_t kMaxFd = 1U << 30;
        if (in.fd > kMaxFd)
            fail("{}: descriptor {} is out of range", reader.name(), in.fd);
        table.slots.push_back({static_cast<int>(in.fd), (in.flags & kCloseOnExec) != 0, in.type, FileId{in.id}});
    }
    std::sort(table.slots.begin(), table.slots.end(), [](const FdSlot& a, const FdSlot& b) { return a.fd < b.fd; });
    for (std::size_t i = 1; i < table.slots.size(); ++i)
        if (table.slots[i - 1].fd == table.slots[i].fd)
            fail("{}: descriptor {} is there twice", reader.name(), table.slots[i].fd);
}

/// Reads the images of one process. Returns the source of its pages; null for a zombie. Stores records in `records`.
std::unique_ptr<const memory::PageSource> readTask(const ImageDir& images, const memory::PageSources& pages,
                                                   const LanePools& records, Task& task) {
    readCores(images, records, task);
    if (!task.alive())
        return nullptr;
    const auto pid = static_cast<std::uint64_t>(task.pid.value);
    task.ids = readInto<TaskKobjIdsEntry>(records.first, images, ImageKind::Ids, pid);
    task.mm = readInto<MmEntry>(records.first, images, ImageKind::Mm, pid);
    memory::requireNoVmaOverlap(**task.mm);
    task.fs = readInto<FsEntry>(records.first, images, ImageKind::Fs, pid);
    for (const model::Thread& thread : task.threads) {
        const ErrorContext context([&] { return fmt::format("thread {}", thread.tid); });
        task::requireOwnRseq(*(*thread.core)->thread_core, **task.mm);
    }
    // Requires a pagemap image for every task, even for one without private pages. If such a task needed no image, a
    // missing image would go unnoticed, and criu would restore memory as zeroes.
    return std::make_unique<const memory::PageSource>(pages.openRequired(memory::MemoryObject::process(task.pid)));
}

/// Adds a process to the users of its descriptor table. Returns the table if this process is its first user.
FdTable* shareFdTable(RestoreImages& out, Task& task) {
    const std::uint32_t id = task.ids ? (*task.ids)->files_id : static_cast<std::uint32_t>(task.pid.value);
    auto& table = out.tree.fdTables[id];
    const bool isNew = table == nullptr;
    if (isNew) {
        table = std::make_shared<FdTable>();
        table->id = id;
    }
    table->users.push_back(task.pid);
    task.files = table;
    return isNew ? table.get() : nullptr;
}

/// Reads the images of all processes and their descriptor tables. Several threads share this work.
void readTasks(const ImageDir& images, const memory::PageSources& pages, RestoreImages& out) {
    const auto& tasks = out.tree.tasks;
    ThreadLanes lanes(std::clamp<std::size_t>(tasks.size() / kProcessesOfReader, 1,
                                              std::min<std::size_t>(availableCores(), kMostReaders)));
    std::mutex mutex;
    const std::function<RecordPool&()> another = [&out, &mutex]() -> RecordPool& {
        const std::scoped_lock lock(mutex);
        return out.records.emplace_back();
    };
    std::vector<std::unique_ptr<const memory::PageSource>> sources(tasks.size());
    lanes.run([&](std::size_t lane) {
        const LanePools records{lane == 0 ? out.records.front() : another(), another};
        const ThreadLanes::Part part = lanes.part(tasks.size(), lane);
        for (std::size_t i = part.first; i < part.end; ++i)
            sources[i] = readTask(images, pages, records, *tasks[i]);
    });
    std::vector<FdTable*> tables;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (!tasks[i]->alive())
            continue;
        out.pages.emplace(tasks[i]->pid, std::move(sources[i]));
        if (FdTable* const table = shareFdTable(out, *tasks[i]); table != nullptr)
            tables.push_back(table);
    }
    lanes.run([&](std::size_t lane) {
        const ThreadLanes::Part part = lanes.part(tables.size(), lane);
        for (std::size_t i = part.first; i < part.end; ++i)
            readFdTable(images, *tables[i]);
    });
}

/// Joins two entries with the same id, which describe one tun device, and returns true. Puts the path of the first
/// entry into the second entry, which has all other fields.
bool joinTun(RestoreImages& out, FileId id, Record<FileEntry>& entry) {
    const auto known = out.files.find(id);
    if (known == out.files.end())
        return false;
    if (entry->type == FD_TYPES__TUNF && known->second->type == FD_TYPES__REG)
        std::swap(known->second, entry);
    else if (entry->type != FD_TYPES__REG || known->second->type != FD_TYPES__TUNF)
        return false;
    if (known->second->reg != nullptr)
        return false;
    known->second->reg = std::exchange(entry->reg, nullptr);
    return true;
}

void readFiles(const ImageDir& images, RestoreImages& out) {
    auto reader = images.openRead(ImageKind::Files);
    if (!reader)
        fail("the images have no {} (images of CRIU before 3.0 can't be restored)", imageName(ImageKind::Files));
    reader->storeIn(out.records.front());
    while (auto entry = reader->next<FileEntry>()) {
        const FileId id{(*entry)->id};
        if (joinTun(out, id, *entry))
            continue;
        if (!out.files.emplace(id, std::move(*entry)).second)
            fail("{}: file {} is there twice", reader->name(), id);
    }
}

void planSeccomp(const ImageDir& images, RestoreImages& out) {
    if (auto reader = images.openRead(ImageKind::Seccomp))
        out.seccompFilters = reader->only<SeccompEntry>();
    const SeccompEntry* const filters = out.seccompFilters ? out.seccompFilters->get() : nullptr;
    for (const auto& task : out.tree.tasks) {
        if (!task->alive())
            continue;
        const ErrorContext context([&] { return fmt::format("process {}", task->pid); });
        std::vector<task::SeccompPlan> plans = task::planSeccomp(*task, filters);
        if (!plans.empty())
            out.seccomp.emplace(task->pid, std::move(plans));
    }
}

}  // namespace

std::optional<std::uint32_t> networkOf(const FileEntry& file) {
    const auto known = [](const auto* socket) {
        return socket != nullptr && socket->has_ns_id != 0 ? std::optional<std::uint32_t>(socket->ns_id) : std::nullopt;
    };
    if (file.nsf != nullptr && file.nsf->ns_cflag == CLONE_NEWNET)
        return file.nsf->ns_id;
    for (const auto& number :
         {known(file.isk), known(file.usk), known(file.nlsk), known(file.psk), known(file.vsk), known(file.tunf)})
        if (number)
            return number;
    return std::nullopt;
}

bool makesIpcNamespace(const RestoreImages& content, const model::Options& options) {
    const TaskKobjIdsEntry* const outside = content.inventory ? (*content.inventory)->root_ids : nullptr;
    const auto& ids = content.tree.root().ids;
    const bool joined = std::any_of(options.joinNs.begin(), options.joinNs.end(),
                                    [](const model::JoinNs& each) { return each.kind == kernel::NamespaceKind::Ipc; });
    return !joined && ids && namespaces::ownNumberOf(outside, ids->get(), kernel::NamespaceKind::Ipc) != 0;
}

RestoreImages::RestoreImages() : records(1) {}
RestoreImages::~RestoreImages() = default;

std::uint32_t RestoreImages::lsmType() const {
    const InventoryEntry& entry = **inventory;
    return entry.has_lsmtype != 0 ? static_cast<std::uint32_t>(entry.lsmtype) : std::uint32_t{LSMTYPE__NO_LSM};
}
RestoreImages::RestoreImages(RestoreImages&&) noexcept = default;

RestoreImages readImages(ImageDir& images, const memory::PageSources& pages, Log& log,
                         const std::function<void()>& unpack) {
    RestoreImages out;
    readInventory(images, out);
    images.openParents();
    if (unpack)
        unpack();
    readTree(images, out.tree);
    readTasks(images, pages, out);
    if (!out.tree.root().alive())
        fail("the root of the tree, process {}, is dead", out.tree.root().pid);
    out.tree.nestedPids = std::make_shared<const model::NestedPids>(readNestedPids(images, out.tree));
    readFiles(images, out);
    planSeccomp(images, out);
    log.info("The images hold {} processes and {} files", out.tree.tasks.size(), out.files.size());
    return out;
}

}  // namespace criu::engine
