// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Rings of packet sockets. Images don't store their content: after a restore, the program and the kernel start with
/// empty rings.
class PacketRing final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override {
        return vma.name.starts_with("socket:[");
    }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        const FileId socket = dump.files().socketFor(vma);
        if (socket == FileId{})
            refuseMapping(vma, "mapped from a socket that isn't an open packet socket");
        entry.status = VmaStatus::Regular | VmaStatus::Socket;
        entry.shmid = socket.value;
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override { return is(entry, VmaStatus::Socket); }
    [[nodiscard]] MapStage stage() const noexcept override { return MapStage::Descriptors; }
    int map(const WantedMapping& wanted, FileCache& files) const override {
        WantedMapping ring = wanted;
        ring.flags &= MAP_SHARED | MAP_PRIVATE | MAP_FIXED | MAP_FIXED_NOREPLACE;
        const UniqueFd socket = files.files().placedSocket(wanted.vma);
        return inContext([] { return "the ring of a socket"; },
                         [&] { return mapFile(ring, socket.get(), wanted.vma.pgoff); });
    }
};

}  // namespace

const MappingKind& packetRingMapping() {
    static const PacketRing kind;
    return kind;
}

}  // namespace criu::memory
