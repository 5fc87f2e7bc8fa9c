// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "criu/memory/clones/clone_file.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// What restore --map-pages maps of the file of its clones. To the process it is anonymous memory, and images say so:
/// they have all of its pages, and don't depend on those that it was restored from.
class Clones final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override { return isOfClones(vma); }

    void describe(const kernel::Vma&, VmaEntry& entry, MappingDump&) const override {
        entry.flags |= MAP_ANONYMOUS;
        entry.pgoff = 0;
        entry.status = VmaStatus::Regular | VmaStatus::AnonPrivate;
    }

    [[nodiscard]] bool isOf(const VmaEntry&) const override { return false; }  // images call it anonymous
    int map(const WantedMapping& wanted, FileCache&) const override { return mapFile(wanted, -1, 0); }
};

}  // namespace

const MappingKind& clonesMapping() {
    static const Clones kind;
    return kind;
}

}  // namespace criu::memory
