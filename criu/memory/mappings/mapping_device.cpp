// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Device memory that a device subsystem handles.
class Device final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump& dump) const override {
        if (vma.flags.has(kernel::VmFlag::Io) || vma.flags.has(kernel::VmFlag::PfnMap))
            return true;
        return !isWithoutFile(vma) && !isAnonymousHuge(vma) && !dump.isPlain(vma);
    }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        FileId file;
        if (!dump.files().claimsDevice(vma, file))
            refuseMapping(vma, "the memory of a device");
        if (!vma.shared)
            refuseMapping(vma, "private copies of the memory of a device");
        dump.setAccess(vma, entry);
        entry.status = VmaStatus::Regular | VmaStatus::Plugin;
        entry.status |= bit(VmaStatus::FileShared);
        entry.shmid = file.value;
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override { return is(entry, VmaStatus::Plugin); }
    [[nodiscard]] MapStage stage() const noexcept override { return MapStage::Files; }
    int map(const WantedMapping& wanted, FileCache& files) const override {
        WantedMapping memory = wanted;
        memory.flags &= MAP_TYPE | MAP_NORESERVE | MAP_FIXED | MAP_FIXED_NOREPLACE;
        return inContext([&] { return fmt::format("device memory at {:#x}", wanted.vma.start); },
                         [&] {
                             const MappedDeviceFile file = files.files().device(wanted.vma);
                             return mapFile(memory, file.fd.get(), file.offset);
                         });
    }
};

}  // namespace

const MappingKind& deviceMapping() {
    static const Device kind;
    return kind;
}

}  // namespace criu::memory
