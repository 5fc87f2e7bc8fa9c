// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"
#include "criu/memory/shmem/sysv_shm.hpp"

namespace criu::memory {
namespace {

/// Attached System V shared memory.
class SysvShm final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump& dump) const override {
        return (vma.flags.has(kernel::VmFlag::HugeTlb) || dump.rules().isKernelTmpfs(vma)) && isSysvShm(vma.name);
    }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        dump.setAccess(vma, entry);
        entry.status = VmaStatus::Regular | VmaStatus::AnonShared;
        entry.status |= bit(VmaStatus::SysvIpc);
        entry.shmid = vma.inode;
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override { return is(entry, VmaStatus::SysvIpc); }
    int map(const WantedMapping& wanted, FileCache&) const override { return attachSysvShm(wanted.vma, wanted.at); }
};

}  // namespace

const MappingKind& sysvMapping() {
    static const SysvShm kind;
    return kind;
}

}  // namespace criu::memory
