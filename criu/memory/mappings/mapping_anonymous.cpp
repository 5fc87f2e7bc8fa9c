// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {

bool isExclusive(const kernel::Vma& vma) noexcept {
    return vma.inCommon == 0 && vma.swap == 0 && !vma.flags.has(kernel::VmFlag::HugeTlb);
}

namespace {

/// Private memory without a file, such as heaps and stacks.
class Anonymous final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override {
        return isWithoutFile(vma) || isAnonymousHuge(vma);
    }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        entry.flags |= MAP_ANONYMOUS;
        entry.status = VmaStatus::Regular | VmaStatus::AnonPrivate;
        entry.has_exclusive = entry.exclusive = isExclusive(vma);
        if (isAnonymousHuge(vma))
            dump.setAccess(vma, entry);
        else if (vma.name == "[heap]")
            entry.status |= bit(VmaStatus::Heap);
    }

    [[nodiscard]] bool isOf(const VmaEntry&) const override { return true; }
    int map(const WantedMapping& wanted, FileCache&) const override { return mapFile(wanted, -1, 0); }
};

}  // namespace

const MappingKind& anonymousMapping() {
    static const Anonymous kind;
    return kind;
}

}  // namespace criu::memory
