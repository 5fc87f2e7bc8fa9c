// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/memory/clones/clone_file.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Mapping of the shared-pages file (restore --map-pages). For the process, this is anonymous memory, so images store
/// it as such. The new images contain all pages. They don't depend on the images from which the process was restored.
class Clones final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override { return isOfClones(vma); }

    void describe(const kernel::Vma&, VmaEntry& entry, MappingDump&) const override {
        entry.flags |= MAP_ANONYMOUS;
        entry.pgoff = 0;
        entry.status = VmaStatus::Regular | VmaStatus::AnonPrivate;
    }

    /// Returns false, because images store such mappings as anonymous memory.
    [[nodiscard]] bool isOf(const VmaEntry&) const override { return false; }
    int map(const WantedMapping& wanted, FileCache&) const override { return mapFile(wanted, -1, 0); }
};

}  // namespace

const MappingKind& clonesMapping() {
    static const Clones kind;
    return kind;
}

}  // namespace criu::memory
