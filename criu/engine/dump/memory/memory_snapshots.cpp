// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/memory_snapshots.hpp"

#include <algorithm>
#include <chrono>

#include <compel/error.hpp>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/memory_clone.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/memory/mappings/vma_dump.hpp"
#include "criu/memory/pages/write_tracking.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

using kernel::VmFlag;

/// Minimum private memory in bytes for a memory snapshot. Less memory is read faster than a stopped clone is made.
constexpr std::uint64_t kWorthClone = std::uint64_t{1} << 20;

std::uint64_t privateBytes(std::span<const kernel::Vma> vmas) {
    std::uint64_t bytes = 0;
    for (const kernel::Vma& vma : vmas)
        bytes += vma.privateBytes();
    return bytes;
}

/// Returns why a stopped clone would lose contents of the mapping, or why the process would notice the clone. Returns
/// null if a clone is possible.
const char* snapshotObstacle(const kernel::Vma& vma) {
    const auto has = [&vma](VmFlag flag) { return vma.flags.has(flag); };
    if (has(VmFlag::UffdMissing) || has(VmFlag::UffdWriteProtect) || has(VmFlag::UffdMinor))
        return "is watched by a userfaultfd";
    if (has(VmFlag::ShadowStack))
        return "is a shadow stack";
    if (vma.shared)
        return nullptr;
    if (has(VmFlag::HugeTlb))
        return "has huge pages of hugetlbfs, which a clone loses when there are no more of them";
    if (vma.privateBytes() == 0 || has(VmFlag::Droppable))
        return nullptr;
    if (has(VmFlag::DontCopy))
        return "isn't inherited by children (MADV_DONTFORK)";
    if (has(VmFlag::WipeOnFork))
        return "is empty in children (MADV_WIPEONFORK)";
    return nullptr;
}

}  // namespace

SnapshotFiles filesOf(const MemoryClone& clone) noexcept {
    return {clone.dir(), clone.memory()};
}

bool isStopped(const MemoryClone& clone) noexcept {
    return clone.isStopped();
}

MemorySnapshots::MemorySnapshots(FrozenTree& tree, std::uint64_t most, Log& log)
    : tree_(tree), most_(most), log_(log) {}

MemorySnapshots::~MemorySnapshots() = default;

std::string MemorySnapshots::whyNot(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                    const memory::DumpedMemory& memory) {
    if (task.compat)
        return "it is a 32-bit process";
    // A stopped process couldn't reap the intermediate process of the clone after a kill of criu.
    if (task.state == model::TaskState::Stopped)
        return "it is stopped";
    if (!tree_.seccompSuspended() &&
        task.status.seccomp.value_or(kernel::SeccompMode::Disabled) != kernel::SeccompMode::Disabled)
        return "seccomp might forbid the clone";
    for (const kernel::Vma& vma : vmas)
        if (const char* const why = snapshotObstacle(vma))
            return fmt::format("its memory at {:#x} {}", vma.start, why);
    for (const memory::DumpedVma& vma : memory.vmas) {
        if (memory::is(*vma.entry, memory::VmaStatus::SysvIpc))
            return "it has System V shared memory, which counts who has attached it";
        if (memory::is(*vma.entry, memory::VmaStatus::Plugin))
            return "a device has a part of its memory";
    }
    if (task.hasRings || memory::hasUntrackedWrites(task.dir, vmas))
        return "devices or asynchronous I/O may write to it";
    const kernel::NamespaceIds ids = task.namespaces();
    if (ids.pidForChildren != ids.of(kernel::NamespaceKind::Pid))
        return "the clone would be a process of the pid namespace that it has its children in";
    if (reparentsInTree(tree_, task))
        return "the clone would become a child of a process of the tree, which adopts orphans";
    return {};
}

std::shared_ptr<MemoryClone> MemorySnapshots::take(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                                   const memory::DumpedMemory& memory) {
    if (privateBytes(vmas) < kWorthClone)
        return nullptr;
    std::string why = whyNot(task, vmas, memory);
    if (why.empty()) {
        try {
            return make(task);
        } catch (const compel::TraceeGone&) {
            throw;
        } catch (const compel::Error& error) {
            why = error.what();
        }
    }
    log_.warn("Memory of {} is read while it stands still: {}", task.describe(), why);
    return nullptr;
}

std::shared_ptr<MemoryClone> MemorySnapshots::takeWithoutSmaps(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                                               const memory::DumpedMemory& memory) {
    if (!whyNot(task, vmas, memory).empty())
        return nullptr;
    try {
        auto clone = make(task);
        return hasAllMemory(clone->dir(), task.dir, vmas) ? clone : nullptr;
    } catch (const compel::TraceeGone&) {
        throw;
    } catch (const compel::Error&) {
        return nullptr;
    }
}

std::shared_ptr<MemoryClone> MemorySnapshots::make(FrozenTask& task) {
    auto clone = std::make_shared<MemoryClone>(task, log_.journal());
    const std::lock_guard lock(mutex_);
    clones_.push_back(clone);
    return clone;
}

void MemorySnapshots::requireRoom() {
    if (most_ == 0)
        return;
    constexpr std::chrono::milliseconds kBetweenLooks{200};
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || now.count() < nextLook_)
        return;
    nextLook_ = std::chrono::nanoseconds(now + kBetweenLooks).count();
    std::uint64_t bytes = 0;
    for (const auto& each : clones_)
        if (const auto clone = each.lock())
            bytes += clone->ownBytes();
    if (bytes > most_)
        fail("the snapshot takes {} MiB of memory by now, more than --background-memory allows", bytes >> 20U);
}

}  // namespace criu::engine
