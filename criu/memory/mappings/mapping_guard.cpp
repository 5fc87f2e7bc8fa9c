// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Guard regions (MADV_GUARD_INSTALL, Linux 6.13), which are page table entries within other mappings. A dump finds
/// them in page tables (page_dump.cpp). A restore installs them after it has written the contents
/// (AddressSpace::seal()).
class Guard final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma&, MappingDump&) const override { return false; }
    void describe(const kernel::Vma& vma, VmaEntry&, MappingDump&) const override {
        refuseMapping(vma, "a guard region");
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override { return is(entry, VmaStatus::Guard); }
    [[nodiscard]] MapStage stage() const noexcept override { return MapStage::Elsewhere; }
    int map(const WantedMapping& wanted, FileCache&) const override {
        fail("the guard region at {:#x} is no mapping", wanted.vma.start);
    }
};

}  // namespace

const MappingKind& guardMapping() {
    static const Guard kind;
    return kind;
}

}  // namespace criu::memory
