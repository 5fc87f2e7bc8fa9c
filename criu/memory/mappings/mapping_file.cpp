// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Regular file mapping, private or shared.
class File final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override {
        return !isWithoutFile(vma) && !isAnonymousHuge(vma);
    }

    void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const override {
        const FileId file = dump.fileFor(vma);
        // The file system decides the page size of a hugetlbfs file, so the entry must not contain page size flags.
        entry.flags &= ~kHugeSizeMask;
        dump.setAccess(vma, entry);
        entry.status = VmaStatus::Regular | (vma.shared ? VmaStatus::FileShared : VmaStatus::FilePrivate);
        entry.shmid = file.value;
    }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override {
        return is(entry, VmaStatus::FilePrivate) || is(entry, VmaStatus::FileShared);
    }
    int map(const WantedMapping& wanted, FileCache& files) const override {
        WantedMapping mapped = wanted;
        mapped.flags &= ~MAP_ANONYMOUS;
        const int fd = inContext([&] { return fmt::format("memory at {:#x}", wanted.vma.start); },
                                 [&] { return files.file(wanted.vma); });
        return mapFile(mapped, fd, wanted.vma.pgoff);
    }
};

}  // namespace

const MappingKind& fileMapping() {
    static const File kind;
    return kind;
}

}  // namespace criu::memory
