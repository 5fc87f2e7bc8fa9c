// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/mapping_kinds.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "criu/base/error.hpp"

namespace criu::memory {

std::span<const MappingKind* const> mappingKinds() {
    // Kinds that only compare the name come first. The device kind comes after them, because it needs a stat(2) of the
    // file.
    static const MappingKind* const kinds[] = {
        &uprobesMapping(), &kernelAreaMapping(), &guardMapping(),     &clonesMapping(), &unsupportedMapping(),
        &aioRingMapping(), &packetRingMapping(), &ioUringMapping(),   &sysvMapping(),   &segmentMapping(),
        &deviceMapping(),  &fileMapping(),       &anonymousMapping(),
    };
    return kinds;
}

const MappingKind& mappingKindOf(const kernel::Vma& vma, MappingDump& dump) {
    const auto kinds = mappingKinds();
    const auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const MappingKind* kind) { return kind->claims(vma, dump); });
    if (found == kinds.end())
        refuseMapping(vma, "something unknown");
    return **found;
}

const MappingKind& mappingKindOf(const VmaEntry& entry) {
    const auto kinds = mappingKinds();
    const auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const MappingKind* kind) { return kind->isOf(entry); });
    if (found == kinds.end())
        fail("memory at {:#x} is of an unknown kind (status {:#x})", entry.start, entry.status);
    return **found;
}

void refuseMapping(const kernel::Vma& vma, std::string_view what, std::string_view hint) {
    Error error(0, fmt::format("memory at {:#x} maps {}{}{}, which can't be dumped", vma.start, what,
                               vma.name.empty() ? "" : ": ", vma.name));
    if (!hint.empty())
        error.addHint(hint);
    throw error;
}

int mapFile(const WantedMapping& wanted, int fd, std::uint64_t offset) {
    void* const at = ::mmap(reinterpret_cast<void*>(wanted.at), wanted.size(), wanted.protection, wanted.flags, fd,
                            static_cast<off_t>(offset));
    if (at == MAP_FAILED)
        failErrno("map {} bytes from offset {:#x} at {:#x} (flags {:#x}, protection {:#x}, file {})", wanted.size(),
                  offset, wanted.at, wanted.flags, wanted.protection, wanted.vma.shmid);
    return wanted.protection;
}

MappingDump::Known& MappingDump::known(const kernel::Vma& vma) {
    return known_[{vma.devMajor, vma.devMinor, vma.inode, vma.name}];
}

bool MappingDump::isPlain(const kernel::Vma& vma) {
    Known& file = known(vma);
    if (!file.plain)
        file.plain =
            inContext([&] { return fmt::format("memory at {:#x}", vma.start); }, [&] { return files_.isPlain(vma); });
    return *file.plain;
}

FileId MappingDump::fileFor(const kernel::Vma& vma) {
    Known& file = known(vma);
    if (!file.file)
        file.file =
            inContext([&] { return fmt::format("memory at {:#x}", vma.start); }, [&] { return files_.fileFor(vma); });
    return *file.file;
}

FileId MappingDump::segmentFor(const kernel::Vma& vma) {
    Known& file = known(vma);
    if (!file.file)
        file.file = inContext([&] { return fmt::format("memory at {:#x}", vma.start); },
                              [&] { return files_.segmentFor(vma); });
    return *file.file;
}

void MappingDump::setAccess(const kernel::Vma& vma, VmaEntry& entry) {
    entry.has_fdflags = 1;
    entry.fdflags = static_cast<std::uint32_t>(files_.accessOf(vma));
}

}  // namespace criu::memory
