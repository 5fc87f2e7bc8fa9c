// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/attributes.hpp"

#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <span>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"
#include "images/vma.hpp"

namespace criu::task {
namespace {

constexpr std::uint32_t kNoLoginUid = 0xffffffff;

constexpr int kSetDenyWritableExec = 65;  // PR_SET_MDWE (6.3)
constexpr int kGetDenyWritableExec = 66;
constexpr int kSetMemoryMerge = 67;  // PR_SET_MEMORY_MERGE (6.4)
constexpr int kGetMemoryMerge = 68;
// Bit 0 of PR_GET_THP_DISABLE; the other bits are flags of PR_SET_THP_DISABLE (6.18).
constexpr std::uint64_t kHugePagesOff = 1;
constexpr int kFutexHash = 78;  // PR_FUTEX_HASH (6.16)
constexpr int kSetFutexSlots = 1;
constexpr int kGetFutexSlots = 2;
constexpr int kSealMemory = 462;           // mseal(2) (6.10)
constexpr int kGetRegistrations = 1 << 9;  // MEMBARRIER_CMD_GET_REGISTRATIONS (6.3)

/// Commands of membarrier(2) that fail with EPERM in a process that hasn't registered for them. The command that
/// registers is the next bit (linux/membarrier.h).
constexpr std::array<std::uint32_t, 3> kBarriers{1U << 3, 1U << 5, 1U << 7};

/// Returns the commands of kBarriers that criu must try, because the kernel doesn't show registrations.
std::span<const std::uint32_t> triedBarriers() noexcept {
    static const bool shown = ::syscall(SYS_membarrier, kGetRegistrations, 0, 0) >= 0;
    return shown ? std::span<const std::uint32_t>() : kBarriers;
}

/// Returns true if the kernel wouldn't give a process this number of futex slots by itself. The kernel gives a process
/// with threads a power of two from 16 up to four slots for each processor (futex_hash_allocate_default(), Linux 6.18).
/// criu doesn't set such a number, because the table of a process that has set the number doesn't grow with threads.
bool isChosenFutexHash(std::uint64_t slots, std::size_t threads, std::optional<std::size_t> cpus) {
    constexpr std::uint64_t kLeast = 16;
    if (slots == 0)
        return threads > 1;
    return slots < kLeast || (cpus && slots > std::bit_ceil(std::max<std::uint64_t>(kLeast, *cpus * 4)));
}

/// Writes a number to a file of a process unless the file contains this number.
void writeUnlessSame(const kernel::ProcPid& process, const char* name, std::int64_t wanted) {
    const auto now = process.tryReadFile(name);
    if (!now)
        return;  // the kernel was built without this file
    std::int64_t current = 0;
    std::from_chars(now->data(), now->data() + now->size(), current);
    if (current == wanted || static_cast<std::uint32_t>(current) == static_cast<std::uint32_t>(wanted))
        return;
    const ErrorContext context([&] { return fmt::format("change {} from {} to {}", name, current, wanted); });
    process.write(name, std::to_string(wanted));
}

}  // namespace

AttributesQuery::AttributesQuery(pie::StepList& steps, pie::RemoteData& data)
    : subreaperAt_(data.reserve(sizeof(std::uint64_t))),
      dumpableAt_(data.reserve(sizeof(std::uint64_t))),
      breakAt_(data.reserve(sizeof(std::uint64_t))),
      noHugePagesAt_(data.reserve(sizeof(std::uint64_t))),
      membarrierAt_(data.reserve(sizeof(std::uint64_t))),
      barriersAt_(data.reserve(kBarriers.size() * sizeof(std::uint64_t))),
      denyWritableExecAt_(data.reserve(sizeof(std::uint64_t))),
      mergeMemoryAt_(data.reserve(sizeof(std::uint64_t))),
      futexSlotsAt_(data.reserve(sizeof(std::uint64_t))),
      lockedAt_(data.reserve(sizeof(std::uint64_t))) {
    steps.call(pie::Subject::Subreaper, 0, SYS_prctl, PR_GET_CHILD_SUBREAPER, subreaperAt_, 0, 0, 0);
    steps.call(pie::Subject::Dumpable, 0, SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
    steps.add(pie::Op::StoreResult, pie::Subject::Dumpable, 0, dumpableAt_);
    steps.call(pie::Subject::MemoryLayout, 0, SYS_brk, 0).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::MemoryLayout, 0, breakAt_).check = pie::ResultCheck::Any;
    steps.call(pie::Subject::AdviseMemory, 0, SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0);
    steps.add(pie::Op::StoreResult, pie::Subject::AdviseMemory, 0, noHugePagesAt_);
    steps.call(pie::Subject::Query, 0, SYS_membarrier, kGetRegistrations, 0, 0).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, membarrierAt_).check = pie::ResultCheck::Any;
    // Kernels before 6.3 don't show which commands a process has registered, so these steps try the commands. A command
    // without visible registration, MEMBARRIER_CMD_GLOBAL_EXPEDITED, isn't found there.
    for (std::size_t i = 0; i < triedBarriers().size(); ++i) {
        steps.call(pie::Subject::Query, 0, SYS_membarrier, kBarriers[i], 0, 0).check = pie::ResultCheck::Any;
        steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, barriersAt_ + i * sizeof(std::uint64_t)).check =
            pie::ResultCheck::Any;
    }
    // Accepts any result, because PR_GET_MDWE needs Linux 6.3, and PR_GET_MEMORY_MERGE needs Linux 6.4.
    steps.call(pie::Subject::Query, 0, SYS_prctl, kGetDenyWritableExec, 0, 0, 0, 0).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, denyWritableExecAt_).check = pie::ResultCheck::Any;
    steps.call(pie::Subject::Query, 0, SYS_prctl, kGetMemoryMerge, 0, 0, 0, 0).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, mergeMemoryAt_).check = pie::ResultCheck::Any;
    steps.call(pie::Subject::Query, 0, SYS_prctl, kFutexHash, kGetFutexSlots, 0, 0, 0).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, futexSlotsAt_).check = pie::ResultCheck::Any;
    // Tests for MCL_FUTURE, which the kernel doesn't show. The data of these steps are in a new mapping, which is
    // locked if MCL_FUTURE is set. msync(2) with MS_INVALIDATE fails with EBUSY on locked memory.
    const std::uint64_t page = lockedAt_ & ~(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) - 1);
    steps.call(pie::Subject::LockMemory, page, SYS_msync, page, 1, MS_INVALIDATE).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::LockMemory, 0, lockedAt_).check = pie::ResultCheck::Any;
}

void AttributesQuery::store(pie::RemoteData& answers, std::size_t threads, std::optional<std::size_t> cpus,
                            TaskCoreEntry& core, MmEntry& mm) const {
    core.has_child_subreaper = 1;
    core.child_subreaper = answers.local<std::uint32_t>(subreaperAt_) != 0;
    mm.has_dumpable = 1;
    mm.dumpable = static_cast<std::int32_t>(answers.local<std::uint64_t>(dumpableAt_));
    mm.mm_brk = answers.local<std::uint64_t>(breakAt_);
    auto registered = answers.local<std::int64_t>(membarrierAt_);
    if (registered < 0) {
        registered = 0;
        const auto results = answers.local<std::array<std::int64_t, kBarriers.size()>>(barriersAt_);
        for (std::size_t i = 0; i < triedBarriers().size(); ++i)
            if (results[i] == 0)
                registered |= kBarriers[i] << 1U;
    }
    if (registered > 0) {
        core.has_membarrier_registration_mask = 1;
        core.membarrier_registration_mask = static_cast<std::uint32_t>(registered);
    }
    const auto denied = answers.local<std::int64_t>(denyWritableExecAt_);
    if (denied > 0) {
        mm.has_deny_writable_exec = 1;
        mm.deny_writable_exec = static_cast<std::uint32_t>(denied);
    }
    if (answers.local<std::int64_t>(mergeMemoryAt_) > 0)
        mm.has_merge_memory = mm.merge_memory = 1;
    const auto slots = answers.local<std::int64_t>(futexSlotsAt_);
    if (slots >= 0 && isChosenFutexHash(static_cast<std::uint64_t>(slots), threads, cpus)) {
        mm.has_futex_slots = 1;
        mm.futex_slots = static_cast<std::uint32_t>(slots);
    }
    mm.has_thp_disabled = 1;
    const auto noHugePages = answers.local<std::uint64_t>(noHugePagesAt_);
    mm.thp_disabled = noHugePages != 0;
    if ((noHugePages & ~kHugePagesOff) != 0) {
        mm.has_thp_disabled_flags = 1;
        mm.thp_disabled_flags = static_cast<std::uint32_t>(noHugePages & ~kHugePagesOff);
    }
    if (answers.local<std::int64_t>(lockedAt_) == -EBUSY)
        mm.has_lock_future = mm.lock_future = 1;
}

std::optional<std::int32_t> autogroupNice(const kernel::ProcPid& process, bool leadsSession) {
    if (!leadsSession)
        return std::nullopt;
    const auto group = kernel::readAutogroup(process);
    return group && group->nice != 0 ? std::optional<std::int32_t>(group->nice) : std::nullopt;
}

void restorePrivilegedAttributes(const TaskCoreEntry& core, const kernel::ProcPid& process) {
    if (core.has_oom_score_adj != 0)
        writeUnlessSame(process, "oom_score_adj", core.oom_score_adj);
    if (core.has_autogroup_nice != 0 && kernel::readAutogroup(process))
        process.write("autogroup", std::to_string(core.autogroup_nice));
}

void restoreLoginUid(const TaskCoreEntry& core) {
    if (core.has_loginuid != 0 && core.loginuid != kNoLoginUid)
        writeUnlessSame(kernel::ProcDir().threadSelf(), "loginuid", core.loginuid);
}

void restoreEarlyAttributes(const TaskCoreEntry& core, bool privileged) {
    restoreLoginUid(core);
    const kernel::ProcPid self = kernel::ProcDir().self();
    if (core.has_coredump_filter != 0)
        self.write("coredump_filter", fmt::format("{:#x}", core.coredump_filter));
    if (privileged)
        restorePrivilegedAttributes(core, self);
}

void restorePersonality(std::uint32_t personality, pie::StepList& steps) {
    // Accepts any result, because the call returns the previous personality.
    steps.call(pie::Subject::Personality, personality, SYS_personality, personality).check = pie::ResultCheck::Any;
}

void restoreAttributes(const TaskCoreEntry& core, const MmEntry& mm, pie::StepList& steps) {
    restorePersonality(core.personality, steps);
    // Each bit of the mask is a command that registers the process.
    for (unsigned command = 0; core.has_membarrier_registration_mask != 0 && command < 32; ++command)
        if ((core.membarrier_registration_mask >> command & 1U) != 0)
            steps.call(pie::Subject::Other, command, SYS_membarrier, 1U << command, 0, 0);
    if (mm.has_thp_disabled != 0 && mm.thp_disabled != 0)
        steps.call(pie::Subject::AdviseMemory, 0, SYS_prctl, PR_SET_THP_DISABLE, 1, mm.thp_disabled_flags, 0, 0);
    if (mm.has_merge_memory != 0 && mm.merge_memory != 0)
        steps.call(pie::Subject::AdviseMemory, 0, SYS_prctl, kSetMemoryMerge, 1, 0, 0, 0);
    if (mm.has_deny_writable_exec != 0)
        steps.call(pie::Subject::ProtectMemory, mm.deny_writable_exec, SYS_prctl, kSetDenyWritableExec,
                   mm.deny_writable_exec, 0, 0, 0);
    // Accepts any result: a kernel before 6.16 has one table for all processes, and a program works with any size.
    if (mm.has_futex_slots != 0)
        steps.call(pie::Subject::Other, mm.futex_slots, SYS_prctl, kFutexHash, kSetFutexSlots, mm.futex_slots, 0, 0)
            .check = pie::ResultCheck::Any;
    const auto vmas = list(mm.vmas, mm.n_vmas);
    if (mm.has_lock_future != 0 && mm.lock_future != 0) {
        // Searches the mappings for MCL_ONFAULT, which isn't stored separately: mappings created after mlockall(2) show
        // it.
        const bool onFault = std::ranges::any_of(vmas, [](const VmaEntry* vma) { return vma->lock_on_fault != 0; });
        steps.call(pie::Subject::LockMemory, 0, SYS_mlockall, MCL_FUTURE | (onFault ? MCL_ONFAULT : 0));
    }
    for (const VmaEntry* const vma : vmas)
        if (vma->has_sealed != 0 && vma->sealed != 0)
            steps.call(pie::Subject::ProtectMemory, vma->start, kSealMemory, vma->start, vma->end - vma->start, 0);
}

Dumpable Dumpable::ofSelf(bool changes) {
    Dumpable own;
    own.now = static_cast<int>(sys(::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), "ask whether criu is dumpable"));
    if (!changes)
        return own;
    const std::string text = kernel::ProcDir().readFile("sys/fs/suid_dumpable");
    std::from_chars(text.data(), text.data() + text.size(), own.afterChange);
    return own;
}

bool Dumpable::needsClearing(const MmEntry& mm, bool credentialsChange, bool idsChange) const noexcept {
    // A process that only loses capabilities keeps its dumpable flag. If its ids change, the kernel changes the flag.
    if (credentialsChange)
        return !idsChange || mm.has_dumpable == 0 || mm.dumpable != kDumpableByRoot || afterChange != kDumpableByRoot;
    const int wanted = mm.has_dumpable != 0 ? mm.dumpable : now;
    return now == kDumpableByUser ? wanted != kDumpableByUser : now == kDumpableByRoot && wanted == kNotDumpable;
}

bool Dumpable::needsSetting(const MmEntry& mm, bool credentialsChange) const noexcept {
    return mm.has_dumpable != 0 && mm.dumpable == kDumpableByUser && (credentialsChange || now != kDumpableByUser);
}

bool Dumpable::isAsWanted(const MmEntry& mm) const noexcept {
    return now == kDumpableByUser && mm.has_dumpable != 0 && mm.dumpable == kDumpableByUser;
}

void setDumpable(pie::StepList& steps) {
    steps.call(pie::Subject::Dumpable, 1, SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}

void clearDumpable(pie::StepList& steps) {
    steps.call(pie::Subject::Dumpable, 0, SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void restoreMemoryLayout(const MmEntry& mm, int exeFd, pie::StepList& steps, pie::RemoteData& data) {
    prctl_mm_map map{};
    map.start_code = mm.mm_start_code;
    map.end_code = mm.mm_end_code;
    map.start_data = mm.mm_start_data;
    map.end_data = mm.mm_end_data;
    map.start_brk = mm.mm_start_brk;
    map.brk = mm.mm_brk;
    map.start_stack = mm.mm_start_stack;
    map.arg_start = mm.mm_arg_start;
    map.arg_end = mm.mm_arg_end;
    map.env_start = mm.mm_env_start;
    map.env_end = mm.mm_env_end;
    // The member auxv must be a pointer in the restored process, so the address is copied as a number.
    const std::uint64_t auxv = data.put(std::as_bytes(std::span(mm.mm_saved_auxv, mm.n_mm_saved_auxv)));
    std::memcpy(&map.auxv, &auxv, sizeof(auxv));
    map.auxv_size = static_cast<std::uint32_t>(mm.n_mm_saved_auxv * sizeof(std::uint64_t));
    map.exe_fd = static_cast<std::uint32_t>(exeFd);
    steps.call(pie::Subject::MemoryLayout, mm.mm_start_code, SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, data.put(map),
               sizeof(map), 0);
}

}  // namespace criu::task
