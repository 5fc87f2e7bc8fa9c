// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Segments: shared anonymous memory and memfds. The kernel implements both as files of its internal tmpfs or of
/// hugetlbfs.
class Segment final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump& dump) const override {
        if (dump.rules().isKernelTmpfs(vma))
            return true;
        return vma.flags.has(kernel::VmFlag::HugeTlb) &&
               (vma.name.starts_with("/memfd:") || (vma.shared && vma.name == kAnonymousHugeName));
    }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        const FileId file = dump.segmentFor(vma);
        dump.setAccess(vma, entry);
        entry.status = VmaStatus::Regular | (vma.shared ? VmaStatus::FileShared : VmaStatus::FilePrivate);
        entry.status |= bit(VmaStatus::Memfd);
        entry.shmid = file.value;
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override {
        return is(entry, VmaStatus::AnonShared) || is(entry, VmaStatus::Memfd);
    }
    int map(const WantedMapping& wanted, FileCache& files) const override {
        WantedMapping shared = wanted;
        shared.flags &= ~MAP_ANONYMOUS;
        const int fd = inContext([&] { return fmt::format("memory at {:#x}", wanted.vma.start); },
                                 [&] { return files.segment(wanted.vma); });
        return mapFile(shared, fd, wanted.vma.pgoff);
    }
};

}  // namespace

const MappingKind& segmentMapping() {
    static const Segment kind;
    return kind;
}

}  // namespace criu::memory
