// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

class Uprobes final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override { return vma.name == "[uprobes]"; }

    /// Images may omit the area, because the kernel creates it again when the process executes a probed instruction.
    [[nodiscard]] bool leavesOut(const kernel::Vma& vma, MappingDump& dump) const override {
        if (!dump.rules().allowUprobes)
            refuseMapping(vma, "the kernel's user-space probes", "dump with --allow-uprobes to leave them out");
        dump.sawUprobes = true;
        return true;
    }

    void describe(const kernel::Vma& vma, VmaEntry&, MappingDump&) const override {
        refuseMapping(vma, "the kernel's user-space probes");
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override { return is(entry, VmaStatus::Uprobes); }
    [[nodiscard]] MapStage stage() const noexcept override { return MapStage::Elsewhere; }
    int map(const WantedMapping& wanted, FileCache&) const override {
        fail("the area of user-space probes at {:#x} is the kernel's to map", wanted.vma.start);
    }
};

}  // namespace

const MappingKind& uprobesMapping() {
    static const Uprobes kind;
    return kind;
}

}  // namespace criu::memory
