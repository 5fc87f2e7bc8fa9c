// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/protection.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "criu/base/log.hpp"
#include "criu/base/machine.hpp"
#include "criu/image/record.hpp"

namespace criu::memory {
namespace {

/// Returns true if mprotect(2) accepts kProtectBranchTargets on this kernel and processor.
bool probe() noexcept {
    const std::size_t size = machinePageSize();
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return false;
    // mmap(2) ignores unknown bits, and mprotect(2) refuses them (arch_validate_prot() of Linux).
    const bool known = ::mprotect(mapped, size, PROT_READ | PROT_EXEC | kProtectBranchTargets) == 0;
    ::munmap(mapped, size);
    return known;
}

bool knowsBranchTargets() noexcept {
    static const bool known = probe();
    return known;
}

bool isGuarded(const VmaEntry* vma) {
    return (vma->prot & kProtectBranchTargets) != 0;
}

}  // namespace

int protectionOf(const VmaEntry& vma) noexcept {
    const int wanted = static_cast<int>(vma.prot);
    return (wanted & kProtectBranchTargets) == 0 || knowsBranchTargets() ? wanted : wanted & ~kProtectBranchTargets;
}

void warnOfLostProtection(const MmEntry& mm, Log& log) {
    const auto all = list(mm.vmas, mm.n_vmas);
    if (std::any_of(all.begin(), all.end(), isGuarded) && !knowsBranchTargets())
        log.warn("memory loses branch target identification (PROT_BTI), which this processor or kernel lacks");
}

}  // namespace criu::memory
