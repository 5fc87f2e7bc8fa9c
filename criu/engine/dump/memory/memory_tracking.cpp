// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/memory_tracking.hpp"

#include <sys/random.h>
#include <time.h>

#include <map>

#include <compel/error.hpp>

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/task_userfaultfd.hpp"
#include "criu/engine/predump/wp_tracker_daemon.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/memory/pages/write_tracking.hpp"
#include "criu/task/compat.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

/// Returns the tracking id in the inventory of `images`; empty if the inventory has none.
std::string idOf(const ImageDir& images) {
    auto inventory = images.openRead(ImageKind::Inventory);
    if (!inventory)
        failWith(ENOENT, "the earlier images in {} have no inventory", images.name());
    const auto entry = inventory->one<InventoryEntry>();
    return entry->tracking_id != nullptr ? entry->tracking_id : "";
}

/// Returns the time since boot in microseconds, rounded to hundredths of a second like /proc/uptime.
std::uint64_t uptimeNow() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    constexpr std::uint64_t kMicroseconds = 1'000'000;
    constexpr long kTick = 10'000'000;  // nanoseconds
    return static_cast<std::uint64_t>(now.tv_sec) * kMicroseconds +
           static_cast<std::uint64_t>(now.tv_nsec / kTick) * 10'000;
}

/// Starts to track writes to the memory of a process. Returns null and logs the reason if the process can't be tracked.
std::unique_ptr<memory::WriteTracking> makeFor(FrozenTask& task, bool seccompSuspended, Log& log) {
    const auto without = [&](std::string_view why) {
        log.warn("Memory of {} isn't tracked: {}", task.describe(), why);
        return nullptr;
    };
    if (!seccompSuspended &&
        task.status.seccomp.value_or(kernel::SeccompMode::Disabled) != kernel::SeccompMode::Disabled)
        return without("seccomp might forbid it");
    if (task::isCompat(*task.process, task.dir))
        return without("it is a 32-bit process");
    try {
        UniqueFd fd = makeUserfaultfd(task, log.journal());
        if (!kernel::enableUffdWpAsync(fd.get()))
            return without("this kernel has no asynchronous write protection (Linux 6.7)");
        return std::make_unique<memory::WriteTracking>(std::move(fd));
    } catch (const compel::Error& error) {
        return without(error.what());
    }
}

struct TaskTracking {
    std::uint64_t startTime = 0;
    bool wanted = false;
    std::unique_ptr<memory::WriteTracking> writes;
};

}  // namespace

struct MemoryTracking::State {
    std::optional<WpTrackerLink> link;
    Use use;
    Log& log;
    std::map<HostPid, TaskTracking> tasks = {};
    bool parentIsKnown = false;
    std::uint64_t uptime = uptimeNow();
    TrackingId next = {};

    [[nodiscard]] bool continues() const noexcept { return use == Use::Continued && link.has_value(); }
};

MemoryTracking::MemoryTracking(std::optional<WpTrackerLink> link, Use use, const ImageDir& images, Log& log)
    : state_(std::make_unique<State>(State{std::move(link), use, log})) {
    if (!state_->link)
        return;
    TrackedTree held = state_->link->list();
    for (TrackedTask& task : held.tasks)
        state_->tasks[task.pid] = {task.startTime, false,
                                   std::make_unique<memory::WriteTracking>(std::move(task.userfaultfd))};
    if (use != Use::Ignored && images.parent() != nullptr) {
        state_->parentIsKnown = held.id != TrackingId{} && idOf(*images.parent()) == describe(held.id);
        if (!state_->parentIsKnown)
            log.warn("The writes since the images in {} weren't tracked: memory is dumped whole",
                     images.parent()->name());
    }
    if (TrackingId& next = state_->next; ::getrandom(next.data(), next.size(), 0) != static_cast<ssize_t>(next.size()))
        failErrno("get random bytes");
}

MemoryTracking::~MemoryTracking() = default;

std::vector<HostPid> MemoryTracking::processes() const {
    std::vector<HostPid> pids;
    for (const auto& [pid, known] : state_->tasks)
        pids.push_back(pid);
    return pids;
}

bool MemoryTracking::parentIsKnown() const noexcept {
    return state_->parentIsKnown;
}

bool MemoryTracking::continues() const noexcept {
    return state_->continues();
}

bool MemoryTracking::used() const noexcept {
    return state_->link.has_value();
}

std::uint64_t MemoryTracking::uptime() const noexcept {
    return state_->uptime;
}

memory::WriteTracking* MemoryTracking::add(FrozenTask& task, std::span<kernel::Vma> vmas, bool seccompSuspended) {
    auto& tasks = state_->tasks;
    const auto found = tasks.find(task.pid());
    if (found != tasks.end() && found->second.startTime != task.stat.startTime)
        tasks.erase(found);
    else if (found != tasks.end())
        found->second.writes->recognize(vmas);
    if (state_->use == Use::Ignored || !state_->link)
        return nullptr;
    if (memory::hasUntrackedWrites(task.dir, vmas)) {
        state_->log.info("Memory of {} isn't tracked: devices or asynchronous I/O may write to it", task.describe());
        return nullptr;
    }
    TaskTracking& known = tasks[task.pid()];
    known.startTime = task.stat.startTime;
    known.wanted = true;
    if (!known.writes && continues())
        known.writes = makeFor(task, seccompSuspended, state_->log);
    return known.writes.get();
}

std::optional<MemoryTracking::Known> MemoryTracking::find(FrozenTask& task, std::span<const kernel::Vma> maps) {
    const auto found = state_->tasks.find(task.pid());
    if (!parentIsKnown() || found == state_->tasks.end() || found->second.startTime != task.stat.startTime ||
        memory::hasUntrackedWrites(task.dir, maps))
        return std::nullopt;
    found->second.wanted = true;
    memory::WriteTracking& writes = *found->second.writes;
    return Known{&writes, writes.recognizeAgain(task.dir, maps)};
}

void MemoryTracking::begin() {
    if (continues())
        state_->link->begin();
}

std::string MemoryTracking::nextId() const {
    return continues() ? describe(state_->next) : std::string();
}

void MemoryTracking::commit(std::shared_ptr<crypto::SecretBytes> key) {
    if (!continues())
        return;
    TrackedTree tree;
    tree.id = state_->next;
    tree.imagesKey = std::move(key);
    for (auto& [pid, known] : state_->tasks)
        if (known.wanted && known.writes && !known.writes->broken())
            tree.tasks.push_back({pid, known.startTime, known.writes->takeFd()});
    state_->link->commit(tree);
}

void MemoryTracking::finish() {
    if (state_->link)
        state_->link->finish();
}

}  // namespace criu::engine
