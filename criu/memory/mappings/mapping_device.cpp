// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Maps a part of device memory if the driver accepts only mappings of all of it or of its beginning. Maps the memory
/// at a temporary address, moves the wanted part to wanted.at, and unmaps the other parts.
int mapPart(const WantedMapping& wanted, const MappedDeviceFile& file) {
    const std::uint64_t size = std::max(file.whole, file.skipped + wanted.size());
    void* const from = ::mmap(nullptr, size, wanted.protection, wanted.flags & MAP_TYPE, file.fd.get(),
                              static_cast<off_t>(file.offset));
    if (from == MAP_FAILED)
        failErrno("map {} bytes from offset {:#x}, of which {} are wanted", size, file.offset, wanted.size());
    const Mapping all(from, size);
    // Reserves the final address first, because mremap(2) would replace any mapping there. wanted.flags decide whether
    // the reservation may replace a mapping.
    void* const place = ::mmap(reinterpret_cast<void*>(wanted.at), wanted.size(), PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | (wanted.flags & ~MAP_TYPE), -1, 0);
    if (place == MAP_FAILED)
        failErrno("reserve {} bytes at {:#x}", wanted.size(), wanted.at);
    void* const part = all.bytes().data() + file.skipped;
    if (::mremap(part, wanted.size(), wanted.size(), MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
        failErrno("move {} bytes to {:#x}", wanted.size(), wanted.at);
    return wanted.protection;
}

/// Device memory that a device subsystem handles.
class Device final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump& dump) const override {
        if (dump.files().isUnusable(vma) || vma.flags.has(kernel::VmFlag::Io) || vma.flags.has(kernel::VmFlag::PfnMap))
            return true;
        return !isWithoutFile(vma) && !isAnonymousHuge(vma) && !dump.isPlain(vma);
    }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        FileId file;
        if (!dump.files().claimsDevice(vma, file))
            refuseMapping(vma, "the memory of a device");
        const bool unusable = dump.files().isUnusable(vma);
        if (unusable)
            entry.prot = PROT_NONE;
        else if (!vma.shared)
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
                             if (file.skipped != 0 || (file.whole != 0 && file.whole != wanted.size()))
                                 return mapPart(memory, file);
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
