// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <sys/shm.h>

#include <map>
#include <memory>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/model/ipc_owner.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/ipc/ipc_limits.hpp"
#include "criu/namespaces/ipc/ipc_messages.hpp"
#include "criu/namespaces/ipc/ipc_semaphores.hpp"
#include "criu/namespaces/ipc/ipc_shared_memory.hpp"
#include "criu/namespaces/ipc/posix_queues.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/non_root_ns_restore.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "images/core.hpp"
#include "images/ipc-var.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Content of one IPC namespace.
class IpcContent {
public:
    /// Reads all images of the namespace, except the contents of shared memory.
    IpcContent(const RestoreInputs& inputs, std::uint32_t number)
        : images_(inputs.images),
          pages_(inputs.pages),
          checkStop_(inputs.checkStop),
          number_(number),
          nsContext_(inputs.nsContext),
          log_(inputs.log),
          limits_(images_.openRequired(ImageKind::IpcVar, number).only<IpcVarEntry>()) {
        if (auto image = images_.openRead(ImageKind::IpcMsg, number))
            queues_ = parseMessageQueues(*image);
        if (auto image = images_.openRead(ImageKind::IpcSem, number))
            semaphores_ = parseSemaphoreSets(*image);
        if (auto image = images_.openRead(ImageKind::IpcMqueue, number))
            posixQueues_ = parsePosixQueues(*image, nsContext_.ids);
        for (MessageQueue& queue : queues_)
            model::toOutside(queue.desc, nsContext_.ids);
        for (SemaphoreSet& set : semaphores_)
            model::toOutside(set.desc, nsContext_.ids);
    }

    [[nodiscard]] const std::vector<SemaphoreSet>& semaphores() const noexcept { return semaphores_; }

    /// Creates the objects. The calling thread must be in the new namespace.
    void make() {
        removalMarked_ = restoreSharedMemory(images_, pages_, number_, nsContext_.ids, checkStop_);
        for (const MessageQueue& queue : queues_)
            makeMessageQueue(queue);
        for (const SemaphoreSet& set : semaphores_)
            makeSemaphoreSet(set);
        makePosixQueues(posixQueues_, nsContext_.ids);
        // Sets the limits last: they may be lower than the objects need, because a process may have lowered them later.
        writeIpcLimits(*limits_, log_);
        log_.info("The IPC namespace has {} message queues, {} POSIX message queues and {} semaphore sets",
                  queues_.size(), posixQueues_.size(), semaphores_.size());
    }

    /// Completes the namespace after the processes have attached their segments and opened their queues. The calling
    /// thread must be in the namespace.
    void finish() {
        // Marks segments only now. The kernel removes a marked segment at once if no process has attached it
        // (shmctl(2)).
        for (const int id : removalMarked_)
            sys(::shmctl(id, IPC_RMID, nullptr), "mark System V shared memory {} for removal", id);
        removeDeletedQueues(posixQueues_);
        writeForcedRemoval(*limits_, log_);
    }

private:
    const ImageDir& images_;
    const memory::PageSources& pages_;
    const std::function<void()>& checkStop_;
    std::uint32_t number_;
    const RestoreNsContext& nsContext_;
    Log& log_;
    Record<IpcVarEntry> limits_;
    std::vector<MessageQueue> queues_;
    std::vector<SemaphoreSet> semaphores_;
    std::vector<PosixQueue> posixQueues_;
    std::vector<int> removalMarked_;
};

class IpcRestore final : public NamespaceRestore {
public:
    IpcRestore(const RestoreInputs& inputs, const KindNsIds& numbers)
        : further_(NamespaceKind::Ipc, numbers.others, inputs.nsContext) {
        if (numbers.own != 0)
            ofRoot_ = std::make_unique<IpcContent>(inputs, numbers.own);
        for (const std::uint32_t number : numbers.others)
            others_.emplace(number, std::make_unique<IpcContent>(inputs, number));
    }

    [[nodiscard]] std::size_t descriptors() const override { return further_.descriptors(); }
    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override { further_.prepare(store); }

    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr && ofRoot_ ? CLONE_NEWIPC : 0;
    }

    void begin() override {
        further_.make([](std::uint32_t) {
            sys(::unshare(CLONE_NEWIPC), "create it");
            return true;
        });
    }

    /// Returns true if the tree has non-root namespaces, because begin() creates these, and fill() needs them.
    [[nodiscard]] bool needsFirstStarted() const override { return !further_.empty(); }

    void fill(const kernel::ProcPid& first) override {
        if (ofRoot_)
            visitNamespace(first, NamespaceKind::Ipc, [this] { ofRoot_->make(); });
        further_.fetch(first);
        for (const auto& [number, content] : others_)
            further_.visit(number, [&space = *content] { space.make(); });
    }

    void enter(const model::Task& task) const override { further_.enter(task); }

    /// Sets the semaphore undo values (SEM_UNDO) of the process.
    void complete(const model::Task& task) const override {
        const auto other =
            task.ids ? others_.find(numberOf(**task.ids, NamespaceKind::Ipc).value_or(0)) : others_.end();
        const IpcContent* const content = other != others_.end() ? other->second.get() : ofRoot_.get();
        if (content != nullptr)
            applySemUndo(content->semaphores(), task.pid);
    }

    void finish(const kernel::ProcPid& first) override {
        if (ofRoot_)
            visitNamespace(first, NamespaceKind::Ipc, [this] { ofRoot_->finish(); });
        for (const auto& [number, content] : others_)
            further_.visit(number, [&space = *content] { space.finish(); });
    }

private:
    /// Content of the root's namespace; null if the root was in criu's namespace.
    std::unique_ptr<IpcContent> ofRoot_;
    std::map<std::uint32_t, std::unique_ptr<IpcContent>> others_;
    NonRootNs further_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeIpcRestore(const RestoreInputs& inputs) {
    if (inputs.joined.has(NamespaceKind::Ipc)) {
        (void)KindNsIds::ofOne(inputs, NamespaceKind::Ipc);
        return makeJoinedRestore(inputs, NamespaceKind::Ipc);
    }
    const KindNsIds numbers = KindNsIds::ofAny(inputs, NamespaceKind::Ipc);
    if (numbers.own != 0 || !numbers.others.empty())
        return std::make_unique<IpcRestore>(inputs, numbers);
    if (const auto& ids = inputs.tree.root().ids)
        inputs.nsContext.systemV = numberOf(**ids, NamespaceKind::Ipc).value_or(0);
    return nullptr;
}

}  // namespace criu::namespaces
