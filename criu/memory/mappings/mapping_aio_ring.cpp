// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/memory/mappings/aio_ring.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Ring of an AIO context. AddressSpace::createAioRings() creates it by io_setup(2) after all children exist, because
/// fork(2) doesn't copy contexts. At first, the ring is at an address that the kernel chooses.
class AioRing final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override { return isAioRing(vma.name); }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        dump.setAccess(vma, entry);
        entry.status = bit(VmaStatus::AioRing);
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override { return is(entry, VmaStatus::AioRing); }
    [[nodiscard]] MapStage stage() const noexcept override { return MapStage::Elsewhere; }
    int map(const WantedMapping& wanted, FileCache&) const override {
        fail("the ring at {:#x} is made with its context", wanted.vma.start);
    }
};

}  // namespace

const MappingKind& aioRingMapping() {
    static const AioRing kind;
    return kind;
}

}  // namespace criu::memory
