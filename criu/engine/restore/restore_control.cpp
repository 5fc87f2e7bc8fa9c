// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/restore_control.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>

#include "criu/base/log.hpp"
#include "criu/base/machine.hpp"
#include "criu/memory/pages/page_reader.hpp"

namespace criu::engine {
namespace {

void wake(std::uint32_t& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX);
}

void sleepFor(std::uint32_t& word, std::uint32_t seen, const timespec* limit) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, limit);
}

void signalCoordinator(ControlPage& page) noexcept {
    __atomic_fetch_add(&page.events, 1U, __ATOMIC_ACQ_REL);
    wake(page.events);
}

}  // namespace

RestoreControl::RestoreControl(std::uint32_t participants)
    : participants_(participants),
      fd_(sys(::memfd_create("criu-restore-control", MFD_CLOEXEC), "create shared memory for the restore")) {
    const std::size_t size = pageAlignUp(sizeof(ControlPage) + (sizeof(AreaSlot) + sizeof(CreatedSlot)) * participants);
    sys(::ftruncate(fd_.get(), static_cast<off_t>(size)), "size shared memory for the restore");
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (at == MAP_FAILED)
        failErrno("map shared memory for the restore");
    mapping_ = Mapping(at, size);
    new (at) ControlPage();
    coordinator_.reset(static_cast<int>(
        sys(::syscall(SYS_pidfd_open, static_cast<long>(::getpid()), 0L), "open a pidfd of criu itself")));
}

memory::ReadWatch RestoreControl::watchReading(const Log& log, std::string_view what) const {
    memory::ReadWatch watch;
    watch.expected = [&page = page()](std::uint64_t bytes) { page.wantedBytes += bytes; };
    watch.piece = [&page = page(), &log, what](std::chrono::steady_clock::time_point begin, std::uint64_t bytes) {
        page.filledBytes += bytes;
        log.noteWork(what, begin, bytes);
    };
    return watch;
}

void RestoreControl::inherit(kernel::FdStore& store) {
    fd_ = store.inherit(kernel::FdKey::Control, std::move(fd_));
    word_.inherit(store);
    coordinator_ = store.inherit(kernel::FdKey::Control, std::move(coordinator_));
}

bool RestoreControl::coordinatorLives() const noexcept {
    pollfd event{coordinator_.get(), POLLIN, 0};
    return ::poll(&event, 1, 0) <= 0;  // a failed poll(2) tells nothing, and the next look follows
}

/// Sleeps until the futex `word` has another value than `seen`, or for a second. Ends the process if the coordinator
/// has ended.
void RestoreControl::sleepOn(std::uint32_t& word, std::uint32_t seen) const noexcept {
    const timespec look{1, 0};
    sleepFor(word, seen, &look);
    if (!coordinatorLives())
        ::_exit(1);
}

void RestoreControl::noteRootStarted() const noexcept {
    __atomic_store_n(&page().rootStarted, 1U, __ATOMIC_RELEASE);
    signalCoordinator(page());
}

void RestoreControl::awaitGate() const noexcept {
    while (__atomic_load_n(&page().gate, __ATOMIC_ACQUIRE) == 0)
        sleepOn(page().gate, 0);
}

void RestoreControl::openGate() const noexcept {
    __atomic_store_n(&page().gate, 1U, __ATOMIC_RELEASE);
    wake(page().gate);
}

void RestoreControl::noteMountsMade() const noexcept {
    __atomic_store_n(&page().mountsMade, 1U, __ATOMIC_RELEASE);
    signalCoordinator(page());
    while (__atomic_load_n(&page().mountsSeen, __ATOMIC_ACQUIRE) == 0)
        sleepOn(page().mountsSeen, 0);
}

void RestoreControl::noteMountsSeen() const noexcept {
    __atomic_store_n(&page().mountsSeen, 1U, __ATOMIC_RELEASE);
    wake(page().mountsSeen);
}

void RestoreControl::pass(Barrier barrier) const noexcept {
    std::uint32_t& word = page().arrived[static_cast<std::size_t>(barrier)];
    const std::uint32_t all = participants_;
    std::uint32_t now = __atomic_add_fetch(&word, 1U, __ATOMIC_ACQ_REL);
    if (now == all)
        wake(word);
    while (now < all) {
        sleepOn(word, now);
        now = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
    }
}

void RestoreControl::awaitReparenting(std::size_t step) const noexcept {
    std::uint32_t& word = page().reparenting;
    for (;;) {
        const std::uint32_t now = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
        if (now >= step)
            return;
        sleepOn(word, now);
    }
}

void RestoreControl::continueReparenting() const noexcept {
    __atomic_add_fetch(&page().reparenting, 1U, __ATOMIC_ACQ_REL);
    wake(page().reparenting);
}

void RestoreControl::noteCreated(TreePid pid) const noexcept {
    const std::uint32_t slot = __atomic_fetch_add(&page().createdCount, 1U, __ATOMIC_ACQ_REL);
    if (slot < participants_)
        __atomic_store_n(&createdSlots()[slot].pid.value, pid.value, __ATOMIC_RELEASE);
}

/// Polls instead of sleeping on a futex: few processes wait here, and noteCreated() then needs no wakeup.
void RestoreControl::awaitCreated(TreePid pid) const noexcept {
    constexpr useconds_t kPause = 500;
    const auto isNoted = [&] {
        const std::uint32_t count = std::min(__atomic_load_n(&page().createdCount, __ATOMIC_ACQUIRE), participants_);
        for (std::uint32_t i = 0; i < count; ++i)
            if (__atomic_load_n(&createdSlots()[i].pid.value, __ATOMIC_ACQUIRE) == pid.value)
                return true;
        return false;
    };
    while (!isNoted()) {
        ::usleep(kPause);
        if (!coordinatorLives())
            ::_exit(1);
    }
}

void RestoreControl::noteArea(const AreaSlot& area) const noexcept {
    const std::uint32_t slot = __atomic_fetch_add(&page().areaCount, 1U, __ATOMIC_ACQ_REL);
    if (slot < participants_)
        areaSlots()[slot] = area;
}

AreaSlot* RestoreControl::areaSlots() const noexcept {
    return reinterpret_cast<AreaSlot*>(&page() + 1);
}

CreatedSlot* RestoreControl::createdSlots() const noexcept {
    return reinterpret_cast<CreatedSlot*>(areaSlots() + participants_);
}

std::vector<TreePid> RestoreControl::created() const {
    std::vector<TreePid> pids;
    const std::uint32_t count = std::min(__atomic_load_n(&page().createdCount, __ATOMIC_ACQUIRE), participants_);
    for (std::uint32_t i = 0; i < count; ++i)
        if (const pid_t pid = __atomic_load_n(&createdSlots()[i].pid.value, __ATOMIC_ACQUIRE); pid > 0)
            pids.emplace_back(pid);
    return pids;
}

std::vector<AreaSlot> RestoreControl::areas() const {
    const std::uint32_t count = std::min(__atomic_load_n(&page().areaCount, __ATOMIC_ACQUIRE), participants_);
    return {areaSlots(), areaSlots() + count};
}

void RestoreControl::reportFailure(TreePid self, std::string_view text, int code) const noexcept {
    pie::Failure& failure = page().failure;
    if (__atomic_exchange_n(&failure.claimed, 1U, __ATOMIC_ACQ_REL) == 0) {
        failure.tid = self.value;
        failure.result = -code;
        const std::size_t length = std::min(text.size(), sizeof(failure.text) - 1);
        std::memcpy(failure.text, text.data(), length);
        failure.text[length] = '\0';
        __atomic_store_n(&failure.complete, 1U, __ATOMIC_RELEASE);
    }
    signalCoordinator(page());
}

RestoreControl::Outcome RestoreControl::await(std::uint32_t parked, unsigned milliseconds) const noexcept {
    return awaitWord(page().parked, parked, milliseconds);
}

RestoreControl::Outcome RestoreControl::awaitRootStarted(unsigned milliseconds) const noexcept {
    return awaitWord(page().rootStarted, 1, milliseconds);
}

RestoreControl::Outcome RestoreControl::awaitMountsMade(unsigned milliseconds) const noexcept {
    return awaitWord(page().mountsMade, 1, milliseconds);
}

/// Waits until `word` is at least `wanted`. Sleeps on the futex `events`: a process that changes `word` also increments
/// `events`.
RestoreControl::Outcome RestoreControl::awaitWord(const std::uint32_t& word, std::uint32_t wanted,
                                                  unsigned milliseconds) const noexcept {
    ControlPage& shared = page();
    const timespec limit{milliseconds / 1000, static_cast<long>(milliseconds % 1000) * 1000000};
    for (bool waited = false;;) {
        const std::uint32_t seen = __atomic_load_n(&shared.events, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&shared.failure.claimed, __ATOMIC_ACQUIRE) != 0)
            return Outcome::Failed;
        if (__atomic_load_n(&word, __ATOMIC_ACQUIRE) >= wanted)
            return Outcome::Reached;
        if (waited && seen == __atomic_load_n(&shared.events, __ATOMIC_ACQUIRE))
            return Outcome::Idle;
        sleepFor(shared.events, seen, &limit);
        waited = __atomic_load_n(&shared.events, __ATOMIC_ACQUIRE) == seen;
    }
}

pie::Failure RestoreControl::failure() const {
    const pie::Failure& shared = page().failure;
    // Waits for `complete`, because the failed process sets it only after all other fields.
    for (int i = 0; i < 1000 && __atomic_load_n(&shared.complete, __ATOMIC_ACQUIRE) == 0; ++i)
        ::usleep(100);
    return shared;
}

int RestoreControl::failureCode() const {
    return static_cast<int>(-failure().result);
}

std::string RestoreControl::failureText() const {
    pie::Failure failure = this->failure();
    failure.text[sizeof(failure.text) - 1] = '\0';
    if (failure.text[0] != '\0')
        return fmt::format("pid {}: {}", failure.tid, failure.text);
    return fmt::format("thread {}: {} {:#x} (system call {}): {}", failure.tid, pie::subjectText(failure.subject),
                       failure.detail, failure.number, std::strerror(static_cast<int>(-failure.result)));
}

}  // namespace criu::engine
