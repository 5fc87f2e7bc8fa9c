// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/early_pages.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/signals_blocked.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/memory_tracking.hpp"
#include "criu/engine/dump/memory/step_out_of_vdso.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/memory/mappings/ignored_mapped_files.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_dump.hpp"
#include "criu/memory/pages/write_tracking.hpp"
#include "criu/memory/shmem/segments_dump.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

bool isPossible(FrozenPhase& frozen) {
    const model::Options& options = frozen.options();
    return !options.background && !options.lazyPages && !frozen.tracking().used();
}

bool isSmall(const std::vector<kernel::Vma>& vmas) {
    std::uint64_t bytes = 0;
    for (const kernel::Vma& vma : vmas)
        bytes += vma.privateBytes();
    return bytes < memory::kWorthThreads;
}

/// Returns true if the kernel or a device may still write to memory of the frozen process. Freezing doesn't stop
/// devices: a device subsystem stops its device only when it dumps the device's descriptors.
bool mayBeWritten(const kernel::ProcPid& process, std::span<const kernel::Vma> vmas,
                  const memory::DumpedMemory& memory) {
    constexpr auto kOthers = memory::VmaStatus::IoUring | memory::VmaStatus::Plugin;
    return memory::hasUntrackedWrites(process, vmas) ||
           std::any_of(memory.vmas.begin(), memory.vmas.end(),
                       [](const memory::DumpedVma& vma) { return (vma.entry->status & kOthers) != 0; });
}

}  // namespace

class EarlyPages::Work {
public:
    explicit Work(FrozenPhase& frozen) : frozen_(frozen), possible_(isPossible(frozen)) {}
    ~Work() {
        closed_ = true;
        givenUp_ = true;
        thread_.reset();
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    void begin(HostPid pid);
    void finish();

    std::map<HostPid, memory::EarlyDump> written;

private:
    void write(const FrozenTask& task);

    FrozenPhase& frozen_;
    const bool possible_;
    /// True after finish(): pages of processes that are still queued aren't written early.
    std::atomic<bool> closed_{false};
    std::atomic<bool> givenUp_{false};
    Arena arena_;
    std::optional<memory::Drainer> drainer_;
    std::optional<ThreadPool> thread_;  // last member: its thread uses the other members, so it must be destroyed first
};

void EarlyPages::Work::begin(HostPid pid) {
    if (!possible_)
        return;
    FrozenTask* const task = frozen_.tree().find(pid);
    if (task == nullptr)
        return;
    // Moves threads out of the vDSO before pages are read, because the stepped threads write to memory.
    stepOutOfVdso(*task, kernel::readMaps(task->dir), frozen_.log());
    if (!thread_) {
        memory::Drainer::Options how;
        // Leaves one processor to the device driver's thread, because the dump waits for that thread.
        how.threads = std::max(availableCores(), 2U) - 1;
        how.stopWanted = [this] { return givenUp_ || frozen_.stop().requested(); };
        if (frozen_.log().isTraced())
            how.block = [&log = frozen_.log()](std::chrono::steady_clock::time_point begin, std::uint64_t bytes) {
                log.noteWork("copy pages", begin, bytes);
            };
        drainer_.emplace(std::move(how));
        const SignalsBlocked handedDown;
        thread_.emplace(1);
    }
    thread_->submit([this, task] {
        if (!closed_)
            write(*task);
    });
}

/// Writes the pages of one process. Runs in the thread pool `thread_`.
void EarlyPages::Work::write(const FrozenTask& task) {
    const ErrorContext context([&] { return task.describe(); });
    const std::vector<kernel::Vma> vmas = kernel::readSmaps(task.dir);
    if (isSmall(vmas))
        return;
    IgnoredMappedFiles files(task.dir);
    memory::VmaDumpRules rules = memory::SegmentsDump().rules();
    // This dump of mappings isn't final; a later check refuses uprobes if the options don't allow them.
    rules.allowUprobes = true;
    memory::DumpedMemory memory = memory::dumpVmas(vmas, rules, files, arena_);
    if (mayBeWritten(task.dir, vmas, memory)) {
        frozen_.log().info("Pages of process {} wait for others: devices or asynchronous I/O may write to them",
                           task.pid());
        return;
    }
    const auto start = std::chrono::steady_clock::now();
    frozen_.log().info("Writing pages of process {} already, while drivers deal with others", task.pid());
    const memory::PageDumpResult result =
        memory::dumpPages({task.actor(), task.treePid(), task.dir}, memory, frozen_.pages(), *drainer_, arena_);
    for (memory::DumpedVma& vma : memory.vmas)
        vma.source = nullptr;  // points into the local `vmas`
    frozen_.log().info(
        "{} MiB of process {} were written within {} ms", result.pagesWritten * kImagePageSize >> 20, task.pid(),
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count());
    written.emplace(task.pid(), memory::EarlyDump{std::move(memory), result});
}

void EarlyPages::Work::finish() {
    closed_ = true;
    if (!thread_)
        return;
    thread_->wait();
    thread_.reset();
    frozen_.statistics().bufferBytes += drainer_->bufferBytes();
}

EarlyPages::EarlyPages(FrozenPhase& frozen) : work_(std::make_unique<Work>(frozen)) {}

EarlyPages::~EarlyPages() = default;

void EarlyPages::begin(HostPid pid) {
    work_->begin(pid);
}

void EarlyPages::finish() {
    work_->finish();
}

const std::map<HostPid, memory::EarlyDump>& EarlyPages::written() const noexcept {
    return work_->written;
}

}  // namespace criu::engine
