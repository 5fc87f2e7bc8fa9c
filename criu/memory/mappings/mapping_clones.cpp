// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/memory/clones/clone_file.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Mapping of the shared-pages file (restore --map-pages). The process sees anonymous memory, and images store it so.
/// They contain all pages and don't depend on the images that it was restored from.
class Clones final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override { return isOfClones(vma); }

    void describe(const kernel::Vma&, VmaEntry& entry, MappingDump&) const override {
        entry.flags |= MAP_ANONYMOUS;
        entry.pgoff = 0;
        entry.status = VmaStatus::Regular | VmaStatus::AnonPrivate;
    }

    [[nodiscard]] bool isOf(const VmaEntry&) const override { return false; }  // images store it as anonymous
    int map(const WantedMapping& wanted, FileCache&) const override { return mapFile(wanted, -1, 0); }
};

}  // namespace

const MappingKind& clonesMapping() {
    static const Clones kind;
    return kind;
}

}  // namespace criu::memory
