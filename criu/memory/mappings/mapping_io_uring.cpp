// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/kernel/io_uring.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Rings of an io_uring. The image of the open file contains their content. The kernel chooses the address of such a
/// mapping. So the restorer's program maps it while all other free addresses are occupied
/// (AddressSpace::addIoUringSteps()).
class IoUring final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override { return vma.name == kIoUringName; }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        const FileId ring = dump.files().ioUringFor(vma);
        if (ring == FileId{})
            refuseMapping(vma, "mapped from an io_uring that is no descriptor any more");
        const bool known =
            vma.pgoff == 0 || vma.pgoff == kernel::kIoUringAlsoRings || vma.pgoff == kernel::kIoUringRequests;
        if (!vma.shared || !known)
            refuseMapping(vma, "a part of an io_uring");
        entry.status = VmaStatus::Regular | VmaStatus::IoUring;
        entry.shmid = ring.value;
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override { return is(entry, VmaStatus::IoUring); }
    [[nodiscard]] MapStage stage() const noexcept override { return MapStage::Program; }
    int map(const WantedMapping& wanted, FileCache&) const override {
        fail("the ring at {:#x} is mapped by the restorer's program", wanted.vma.start);
    }
};

}  // namespace

const MappingKind& ioUringMapping() {
    static const IoUring kind;
    return kind;
}

}  // namespace criu::memory
