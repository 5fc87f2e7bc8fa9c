// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/write_tracking.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/memory/mappings/aio_ring.hpp"

namespace criu::memory {
namespace {

using kernel::PageIs;
using kernel::PageQuery;
using kernel::Vma;
using kernel::VmFlag;

/// Returns the query that write-protects unprotected private pages. Keep its condition that pages are present: for
/// absent pages, the kernel would create protection marks that look like swapped pages.
PageQuery unprotected(const PageQuery& own) {
    return {.all = PageIs::Written, .none = own.none, .any = own.any, .report = PageIs::Written, .writeProtect = true};
}

PageQuery protectedOnes(const PageQuery& own) {
    return {.none = own.none | PageIs::Written, .any = own.any};
}

/// Returns true if page tables show every write to the mapping. Returns false for all shared mappings.
bool canBeTracked(const Vma& vma) {
    constexpr VmFlag kNever[] = {VmFlag::HugeTlb,   VmFlag::Io,          VmFlag::PfnMap,
                                 VmFlag::MixedMap,  VmFlag::ShadowStack, VmFlag::Droppable,
                                 VmFlag::UffdMinor, VmFlag::Shared,      VmFlag::UffdMissing};
    return !vma.shared && !vma.name.starts_with("[v") && vma.end <= taskSize() &&
           std::none_of(std::begin(kNever), std::end(kNever), [&](VmFlag flag) { return vma.flags.has(flag); });
}

/// Returns true for devices that never access process memory by DMA: memory devices, terminals and misc devices.
bool isHarmlessDevice(dev_t device) noexcept {
    constexpr unsigned kMemory = 1;
    constexpr unsigned kTerminals = 4;
    constexpr unsigned kOwnTerminal = 5;
    constexpr unsigned kMisc = 10;
    constexpr unsigned kFirstPty = 136;
    constexpr unsigned kLastPty = 143;
    const unsigned number = major(device);
    return number == kMemory || number == kTerminals || number == kOwnTerminal || number == kMisc ||
           (number >= kFirstPty && number <= kLastPty);
}

bool handsOutPages(const kernel::ProcPid& process, int fd) {
    const std::string name = fmt::format("fd/{}", fd);
    try {
        const std::string target = process.readLink(name);
        if (target.starts_with("anon_inode:"))
            return target == "anon_inode:[io_uring]" || target == "anon_inode:[userfaultfd]";
        if (!target.starts_with("/dev/"))
            return false;
        struct stat status {};
        return ::fstatat(process.fd(), name.c_str(), &status, 0) == 0 && S_ISCHR(status.st_mode) &&
               !isHarmlessDevice(status.st_rdev);
    } catch (const Error&) {
        return true;  // the type of the file is unknown
    }
}

}  // namespace

bool WriteTracking::registerArea(const Vma& vma) {
    return kernel::registerUffdWp(fd_.get(), vma.start, vma.size()) == 0;
}

void WriteTracking::recognize(std::span<Vma> vmas) {
    for (Vma& vma : vmas) {
        if (!vma.flags.has(VmFlag::UffdWriteProtect) || !canBeTracked(vma))
            continue;
        // The kernel accepts a second registration only if the same userfaultfd made the first one. So a success means
        // that this descriptor has registered the mapping before.
        if (!registerArea(vma))
            continue;
        vma.flags.clear(VmFlag::UffdWriteProtect);
        tracked_.add({vma.start, vma.end});
    }
}

std::vector<Vma> WriteTracking::recognizeAgain(const kernel::ProcPid& process, std::span<const Vma> vmas) {
    // Checks first whether the mapping is registered, because registerArea() would also register untracked mappings. A
    // registration covers a complete mapping, so it is enough to check the first page.
    constexpr PageQuery kRegistered{.all = PageIs::WpAllowed};
    const kernel::PagemapScanner scanner(process, kernel::PagemapScanner::Mode::Scan);
    std::vector<Vma> found;
    for (const Vma& vma : vmas) {
        if (!canBeTracked(vma) || scanner.scan(vma.start, vma.start + machinePageSize(), kRegistered).empty())
            continue;
        // Needs no smaps data: canBeTracked() has accepted the mapping at its first registration, and the properties
        // that it checks there don't change.
        if (!registerArea(vma))
            continue;
        tracked_.add({vma.start, vma.end});
        found.push_back(vma);
    }
    return found;
}

void WriteTracking::restart(const kernel::ProcPid& process, std::span<const Vma> vmas) {
    const kernel::PagemapScanner scanner(process, kernel::PagemapScanner::Mode::Scan);
    for (const Vma& vma : vmas) {
        const bool tracked = covers(vma.start, vma.end);
        const bool mayHavePages = tracked || vma.anonymous != 0 || vma.swap != 0;
        if (!mayHavePages || !canBeTracked(vma) || vma.flags.has(VmFlag::UffdWriteProtect))
            continue;
        const PageQuery& own = kernel::isAnonymous(vma) ? kernel::kAnonymousPages : kernel::kPrivatePages;
        if (!tracked) {
            if (!registerArea(vma))
                continue;
            // Before Linux 6.13, pages that mremap(2) moved out of a registered range kept the protection mark,
            // although they weren't protected.
            if (!scanner.scan(vma.start, vma.end, protectedOnes(own)).empty())
                if (const int code = kernel::clearUffdWp(fd_.get(), vma.start, vma.size()); code != 0)
                    failWith(code, "lift the protection of memory at {:#x}", vma.start);
        }
        scanner.scanAtOnce(vma.start, vma.end, unprotected(own), [](const kernel::PageRange&) {});
    }
}

void WriteTracking::markWritten(std::uint64_t start, std::uint64_t size) noexcept {
    const int code = kernel::clearUffdWp(fd_.get(), start, size);
    if (code != 0 && code != ENOENT && code != ESRCH)
        broken_ = true;
}

bool hasUntrackedWrites(const kernel::ProcPid& process, std::span<const Vma> vmas) {
    if (std::any_of(vmas.begin(), vmas.end(), [](const Vma& vma) { return isAioRing(vma.name); }))
        return true;
    kernel::ProcBuffer buffer;
    if (kernel::readStatus(process, buffer).vmPinned.value_or(0) != 0)
        return true;
    const std::vector<int> fds = process.numbers("fd");
    return std::any_of(fds.begin(), fds.end(), [&](int fd) { return handsOutPages(process, fd); });
}

}  // namespace criu::memory
