// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

bool isVdsoData(const kernel::Vma& vma) {
    return vma.name.starts_with("[vvar");
}

/// Mappings that the kernel adds to every process. VdsoMove moves the vDSO to its dumped address.
class KernelArea final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override {
        return vma.name == "[vsyscall]" || vma.name == "[vdso]" || isVdsoData(vma);
    }

    /// One image entry covers all data mappings of the vDSO, because kernels differ in the number of these mappings.
    [[nodiscard]] bool continues(const VmaEntry& before, const kernel::Vma& vma) const override {
        return isVdsoData(vma) && is(before, VmaStatus::Vvar) && before.end == vma.start;
    }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump&) const override {
        entry.flags |= MAP_ANONYMOUS;
        entry.pgoff = 0;
        entry.status = bit(VmaStatus::AnonPrivate);
        if (vma.name == "[vsyscall]")
            entry.status |= bit(VmaStatus::Vsyscall);
        else
            entry.status |= VmaStatus::Regular | (isVdsoData(vma) ? VmaStatus::Vvar : VmaStatus::Vdso);
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override {
        return is(entry, VmaStatus::Vdso) || is(entry, VmaStatus::Vvar) || is(entry, VmaStatus::Vsyscall);
    }
    [[nodiscard]] MapStage stage() const noexcept override { return MapStage::Elsewhere; }
    int map(const WantedMapping& wanted, FileCache&) const override {
        fail("memory at {:#x} is the kernel's to map", wanted.vma.start);
    }
};

}  // namespace

const MappingKind& kernelAreaMapping() {
    static const KernelArea kind;
    return kind;
}

}  // namespace criu::memory
