// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/memory_snapshots.hpp"

#include <compel/error.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/memory_tracking.hpp"
#include "criu/engine/dump/memory/task_userfaultfd.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/mm/vma_flags.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/memory/mappings/vma_dump.hpp"

namespace criu::engine {
namespace {

using kernel::Vma;

/// Minimum bytes of private pages for a late read. The kernel counts fewer pages faster than criu asks for the facts.
constexpr std::uint64_t kWorthLateRead = std::uint64_t{32} << 20;

/// Maximum number of mappings. criu makes some system calls for each mapping, and the kernel passes through all
/// mappings up to the next file in one of them.
constexpr std::size_t kMostMappings = 1000;

bool isKernelArea(const Vma& vma) {
    return vma.name == "[vdso]" || vma.name.starts_with("[vvar") || vma.name == "[vsyscall]";
}

/// Returns true if mappings of the file system's regular files have no huge pages of hugetlbfs, and no device memory.
bool isPlainFileSystem(std::string_view type) noexcept {
    constexpr std::string_view kTypes[] = {"ext2",  "ext3",     "ext4",  "xfs", "btrfs", "overlay",
                                           "tmpfs", "squashfs", "erofs", "9p",  "f2fs",  "nfs4"};
    return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

/// Returns true if each mapping is anonymous memory, an area of the kernel, or a plain file.
bool areOfKnownKinds(const FrozenTask& task, std::span<const Vma> maps, const memory::VmaDumpRules& rules) {
    using Device = std::pair<std::uint32_t, std::uint32_t>;
    std::set<Device> plain;
    kernel::ProcBuffer buffer;
    const kernel::MountTable mounts = kernel::readMountInfo(task.dir, buffer);
    for (const kernel::MountInfo& mount : mounts.all())
        if (isPlainFileSystem(mount.fsType))
            plain.insert({mount.devMajor, mount.devMinor});
    return std::all_of(maps.begin(), maps.end(), [&](const Vma& vma) {
        return isKernelArea(vma) || kernel::isAnonymous(vma) || rules.isKernelTmpfs(vma) ||
               (vma.inode != 0 && vma.name.starts_with('/') && plain.contains({vma.devMajor, vma.devMinor}));
    });
}

/// Returns true if processes of the tree may have private pages in common: a process that hasn't called execve(2) since
/// its fork(2) shares pages with its parent.
bool mayShareInTree(std::span<const std::unique_ptr<FrozenTask>> tasks) {
    constexpr std::uint32_t kForkedOnly = 0x40;  // PF_FORKNOEXEC of the kernel
    const auto alive = [](const auto& task) { return task->alive(); };
    if (std::count_if(tasks.begin(), tasks.end(), alive) == 1)
        return false;
    return std::any_of(tasks.begin(), tasks.end(),
                       [&](const auto& task) { return alive(task) && (task->stat.flags & kForkedOnly) != 0; });
}

/// Returns true if the kernel may merge two adjacent mappings when their flags become equal.
bool mayMerge(const Vma& low, const Vma& high) {
    return low.end == high.start && kernel::isAnonymous(low) && kernel::isAnonymous(high);
}

/// Returns true if a userfaultfd has registered a mapping, or if criu can't find out.
bool mayBeWatched(FrozenTask& task, std::span<const Vma> maps, Journal& journal) {
    std::size_t area = maps.size();  // index of the last area of the kernel
    std::size_t count = 0;           // number of mappings below the end of the address space
    for (; count < maps.size() && maps[count].end <= taskSize(); ++count)
        if (isKernelArea(maps[count]))
            area = count;
    if (area == maps.size())
        return true;
    const UniqueFd fd = makeUserfaultfd(task, journal);
    kernel::enableUffd(fd.get());
    for (std::size_t at = 0; at < count; ++at) {
        const Vma& vma = maps[at];
        // Above the areas of the kernel, the kernel registers a mapping for a moment. It must not be merged then.
        if (at > area && (mayMerge(maps[at - 1], vma) || (at + 1 < count && mayMerge(vma, maps[at + 1]))))
            return true;
        const std::uint64_t end = at < area ? maps[area].end : vma.end;
        if (kernel::findOtherUffd(fd.get(), vma.start, end) != kernel::OtherUffd::None)
            return true;
    }
    return false;
}

/// Returns the mapping of a clone that contains a mapping of the process; null if there is none. It is larger if the
/// kernel has merged the process' mapping with memory that criu had mapped in the process for the clone.
const Vma* findPart(std::span<const Vma> clone, const Vma& vma) {
    const auto after = std::upper_bound(clone.begin(), clone.end(), vma.start,
                                        [](std::uint64_t start, const Vma& each) { return start < each.start; });
    if (after == clone.begin())
        return nullptr;
    const Vma& found = *std::prev(after);
    const bool same = found.end >= vma.end && found.prot == vma.prot && found.shared == vma.shared &&
                      found.inode == vma.inode && found.devMajor == vma.devMajor && found.devMinor == vma.devMinor;
    return same ? &found : nullptr;
}

}  // namespace

std::optional<LateSmaps> readMapsOnly(FrozenTree& tree, FrozenTask& task, const memory::VmaDumpRules& rules, Log& log) {
    const kernel::TaskStatus& status = task.status;
    LateSmaps late;
    late.bytes = status.rssAnonymous.value_or(0) + status.vmSwap.value_or(0);
    if (late.bytes < kWorthLateRead)
        return std::nullopt;
    const bool seccomp = !tree.seccompSuspended() &&
                         status.seccomp.value_or(kernel::SeccompMode::Disabled) != kernel::SeccompMode::Disabled;
    if (task.compat || seccomp || status.shadowStack || status.vmLocked.value_or(1) != 0 ||
        status.hugetlbPages.value_or(0) != 0 || mayShareInTree(tree.tasks()))
        return std::nullopt;
    late.maps = kernel::readMaps(task.dir);
    if (late.maps.size() > kMostMappings)
        return std::nullopt;
    try {
        if (!areOfKnownKinds(task, late.maps, rules) ||
            kernel::PagemapScanner(task.dir).mode() != kernel::PagemapScanner::Mode::Scan ||
            mayBeWatched(task, late.maps, log.journal()))
            return std::nullopt;
    } catch (const compel::TraceeGone&) {
        throw;
    } catch (const compel::Error& error) {
        log.debug("smaps of {} is read while it stands still: {}", task.describe(), error.what());
        return std::nullopt;
    }
    return late;
}

std::shared_ptr<const kernel::VmaFlagReader> prepareFlagReader(std::span<const HostPid> tree, Log& log) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    const auto hasManyPages = [&](HostPid pid) {
        try {
            return kernel::readStatus(proc.open(pid.value), buffer).rssAnonymous.value_or(0) >= kWorthFlagReader;
        } catch (const Error&) {
            return false;  // the process has ended
        }
    };
    if (tree.size() >= kMostForFlagReader || std::none_of(tree.begin(), tree.end(), hasManyPages))
        return nullptr;
    try {
        // Without PAGEMAP_SCAN (Linux 6.7), the search for pages needs the sizes of smaps.
        if (kernel::PagemapScanner(proc.self()).mode() != kernel::PagemapScanner::Mode::Scan)
            return nullptr;
        return std::make_shared<const kernel::VmaFlagReader>();
    } catch (const Error& error) {
        log.debug("Flags of mappings are read from smaps: {}", error.what());
        return nullptr;
    }
}

std::optional<LateSmaps> readMapsAndFlags(const kernel::VmaFlagReader& reader, FrozenTree& tree, FrozenTask& task,
                                          Log& log) {
    LateSmaps uncounted;
    uncounted.bytes = task.status.rssAnonymous.value_or(0);
    if (uncounted.bytes < kWorthFlagReader || task.status.vmSwap.value_or(1) != 0 || mayShareInTree(tree.tasks()))
        return std::nullopt;
    uncounted.maps = kernel::readMaps(task.dir);
    try {
        if (reader.addFlags(task.actor().value, uncounted.maps))
            return uncounted;
        log.debug("smaps of {} is read: its mappings have flags or sizes that only smaps shows", task.describe());
    } catch (const Error& error) {
        log.debug("smaps of {} is read: {}", task.describe(), error.what());
    }
    return std::nullopt;
}

bool hasAllMemory(const kernel::ProcPid& clone, const kernel::ProcPid& process, std::span<const Vma> maps) {
    const std::vector<Vma> copies = kernel::readMaps(clone);
    if (!std::all_of(maps.begin(), maps.end(), [&](const Vma& vma) { return findPart(copies, vma) != nullptr; }))
        return false;
    const kernel::PagemapScanner pages(process, kernel::PagemapScanner::Mode::Scan);
    const kernel::PagemapScanner copied(clone, kernel::PagemapScanner::Mode::Scan);
    // The kernel wipes complete mappings, so one page shows whether it has wiped the mapping.
    return std::all_of(maps.begin(), maps.end(), [&](const Vma& vma) {
        if (!kernel::isAnonymous(vma))
            return true;
        const auto page = pages.first(vma.start, vma.end, kernel::kAnonymousPages);
        return !page || copied.first(*page, *page + machinePageSize(), kernel::kAnonymousPages) == page;
    });
}

void addSmapsFields(std::span<Vma> maps, std::span<const Vma> smaps) {
    for (Vma& vma : maps) {
        const Vma* const found = findPart(smaps, vma);
        if (found == nullptr)
            fail("smaps doesn't show the mapping at {:#x}", vma.start);
        vma.flags = found->flags;
        vma.kernelPageSize = found->kernelPageSize;
        vma.rss = found->rss;
        vma.inCommon = found->inCommon;
        vma.anonymous = found->anonymous;
        vma.swap = found->swap;
        vma.locked = found->locked;
    }
}

}  // namespace criu::engine
