// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

bool isVdsoData(const kernel::Vma& vma) {
    return vma.name.starts_with("[vvar");
}

/// What the kernel maps into every process. The vDSO is put in place by VdsoMove.
class KernelArea final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override {
        return vma.name == "[vsyscall]" || vma.name == "[vdso]" || isVdsoData(vma);
    }

    /// One entry stands for all data mappings of the vDSO: kernels differ in how many there are.
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
