// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/memory/clones/clone_file.hpp"
#include "criu/memory/mappings/late_work.hpp"
#include "criu/memory/mappings/mapping_kind.hpp"
#include "criu/memory/mappings/mapping_policies.hpp"
#include "criu/memory/mappings/own_mappings.hpp"
#include "criu/memory/mappings/protection.hpp"
#include "criu/memory/mappings/vma_pages.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

/// Lowest temporary address of a mapping. Programs and libraries seldom have mappings near it.
constexpr std::uint64_t kImageScratchBase = 0x100000000;

bool isPrivate(const VmaEntry& vma) {
    return is(vma, VmaStatus::AnonPrivate) || is(vma, VmaStatus::FilePrivate);
}

bool hasContent(const PageSource& pages, const VmaEntry& vma) {
    return hasPrivatePages(vma) && pages.covers(vma.start, vma.end);
}

/// Returns true if a mapping of this stage is created late, so that criu reserves its addresses with PROT_NONE until
/// then.
bool isReserved(MapStage stage) {
    return stage == MapStage::Descriptors || stage == MapStage::Program;
}

void reserve(const PlacedVma& placed) {
    const WantedMapping place{*placed.vma, placed.at, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE};
    mapFile(place, -1, 0);
}

}  // namespace

RangeSet AddressSpace::targets() const {
    RangeSet set;
    for (const PlacedVma& placed : vmas_)
        set.add({placed.vma->start, placed.vma->end});
    return set;
}

bool AddressSpace::takeOver(const VmaEntry& vma, const AddressSpace& previous) {
    const auto& old = previous.vmas_;
    const auto at =
        std::lower_bound(old.begin(), old.end(), vma.start,
                         [](const PlacedVma& placed, std::uint64_t start) { return placed.vma->start < start; });
    if (at == old.end() || !at->mapped)
        return false;
    if (at->ofClones)
        return false;
    const VmaEntry& other = *at->vma;
    const bool same = other.start == vma.start && other.end == vma.end && other.flags == vma.flags &&
                      other.shmid == vma.shmid && other.pgoff == vma.pgoff && other.status == vma.status &&
                      samePolicy(other, vma);
    if (!same || !isPrivate(vma) || isHuge(vma))
        return false;
    PlacedVma taken = *at;
    taken.vma = &vma;
    taken.inherited = true;
    taken.complete = false;
    vmas_.push_back(taken);
    return true;
}

void AddressSpace::choosePlace(PlacedVma& placed, const RangeSet& occupied) {
    const VmaEntry& vma = *placed.vma;
    const Range wanted{vma.start, vma.end};
    if (!occupied.overlaps(wanted)) {
        placed.at = vma.start;
        return;
    }
    const std::uint64_t alignment = pageSizeOf(vma);
    const auto hole = occupied.findHole(placed.size() + alignment, kImageScratchBase);
    if (!hole)
        fail("no room of {} bytes for memory that belongs at {:#x}", placed.size(), vma.start);
    placed.at = (*hole + alignment - 1) & ~(alignment - 1);
}

void AddressSpace::unmapOthers(const AddressSpace& previous) const {
    std::unordered_set<std::uint64_t> taken;
    for (const PlacedVma& placed : vmas_)
        taken.insert(placed.at);
    for (const PlacedVma& old : previous.vmas_)
        if (old.mapped && !taken.contains(old.at))
            sys(::munmap(reinterpret_cast<void*>(old.at), old.size()), "unmap memory of the parent at {:#x}", old.at);
}

/// Free addresses for mappings of `mm` that criu can't create at their final addresses. Excludes occupied addresses,
/// and the final addresses of all mappings.
class AddressSpace::Room {
public:
    /// `occupied`: known mappings of this process. If the process has another mapping at an address, mmap(2) with
    /// MAP_FIXED_NOREPLACE fails, and make() tries again.
    Room(const MmEntry& mm, RangeSet occupied) : mm_(mm), occupied_(std::move(occupied)) { avoidTargets(); }

    /// Sets placed.at to the final address if it is free, else to a temporary address, and calls `map`. `map` creates
    /// the mapping at placed.at, and must not replace an existing mapping.
    template <typename Map>
    void make(PlacedVma& placed, Map&& map) {
        place(placed);
        try {
            map();
        } catch (const Error&) {
            // Assumes that a mapping which isn't in `occupied_` occupies the address.
            const std::uint64_t tried = placed.at;
            if (!renew())
                throw;
            place(placed);
            if (placed.at == tried)
                throw;
            map();
        }
        take(placed);
    }

private:
    void avoidTargets() {
        avoid_ = occupied_;
        for (const VmaEntry* vma : list(mm_.vmas, mm_.n_vmas))
            if (vma->start < taskSize())
                avoid_.add({vma->start, vma->end});
    }

    void place(PlacedVma& placed) const {
        const Range wanted{placed.vma->start, placed.vma->end};
        choosePlace(placed, occupied_.overlaps(wanted) ? avoid_ : occupied_);
    }

    void take(const PlacedVma& placed) {
        occupied_.add({placed.at, placed.at + placed.size()});
        avoid_.add({placed.at, placed.at + placed.size()});
    }

    /// Reads the current mappings of this process into `occupied_`. Returns false if an earlier call did so.
    bool renew() {
        if (std::exchange(renewed_, true))
            return false;
        occupied_ = ownMappings();
        avoidTargets();
        return true;
    }

    const MmEntry& mm_;
    RangeSet occupied_;
    RangeSet avoid_;
    bool renewed_ = false;
};

void AddressSpace::add(const VmaEntry& vma, int protection, Room& room, FileCache& files, Log& log) {
    PlacedVma placed;
    placed.vma = &vma;
    placed.kind = &mappingKindOf(vma);
    room.make(placed, [&] {
        if (isReserved(placed.kind->stage())) {
            reserve(placed);
            placed.protection = PROT_NONE;
        } else {
            const int flags = static_cast<int>(vma.flags) & ~(MAP_LOCKED | MAP_POPULATE | MAP_NONBLOCK);
            placed.protection = placed.kind->map({vma, placed.at, protection, flags | MAP_FIXED_NOREPLACE}, files);
        }
    });
    addPlaced(placed, log);
}

void AddressSpace::addOfClones(const VmaEntry& vma, int protection, const CloneFile& clones, Room& room, Log& log) {
    PlacedVma placed;
    placed.vma = &vma;
    placed.kind = &mappingKindOf(vma);
    placed.ofClones = true;
    const int flags = static_cast<int>(vma.flags) & ~(MAP_ANONYMOUS | MAP_POPULATE | MAP_NONBLOCK);
    room.make(placed, [&] {
        placed.protection =
            mapFile({vma, placed.at, protection, flags | MAP_FIXED_NOREPLACE}, clones.fd, clones.offsetOf(vma.start));
    });
    addPlaced(placed, log);
}

void AddressSpace::addPlaced(PlacedVma placed, Log& log) {
    placed.mapped = true;
    if (placed.moved())
        log.debug("memory of {:#x} is built at {:#x}", placed.vma->start, placed.at);
    if (!setPolicy(*placed.vma, placed.at))
        log.warn("Memory at {:#x} can't have its policy (mbind(2)) on this machine: {}", placed.vma->start,
                 std::strerror(errno));
    vmas_.push_back(placed);
}

/// Adds a mapping that doesn't exist until the restorer's program creates it.
void AddressSpace::addUnmapped(const VmaEntry& vma) {
    PlacedVma placed;
    placed.vma = &vma;
    placed.kind = &mappingKindOf(vma);
    placed.at = vma.start;
    placed.late = LateWork::Map;
    vmas_.push_back(placed);
}

AddressSpace AddressSpace::build(const model::Task& task, const PageSource& pages, const AddressSpace& previous,
                                 const RangeSet& present, MappedFiles& files, const CloneFile* clones,
                                 std::size_t allowed, Log& log) {
    const auto isOfClones = [clones](const VmaEntry& vma) { return clones != nullptr && clones->has(vma); };
    AddressSpace space;
    const MmEntry& mm = **task.mm;
    space.vmas_.reserve(mm.n_vmas);
    const LateWorkPlan late = clones == nullptr ? LateWorkPlan::choose(mm, pages, allowed) : LateWorkPlan();
    if (late.saved() != 0)
        log.debug("{} of {} mappings are left to the restorer's program", late.saved(), mm.n_vmas);

    warnOfLostProtection(mm, log);
    // First unmaps mappings of the creator that this process doesn't need, to free their addresses.
    std::vector<const VmaEntry*> fresh;
    for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas)) {
        if (is(*vma, VmaStatus::Guard))
            space.guards_.push_back({vma->start, vma->end});
        const MapStage stage = mappingKindOf(*vma).stage();
        if (stage == MapStage::Elsewhere || stage == MapStage::Files)
            continue;
        if (isOfClones(*vma) || late.of(*vma) == LateWork::Map || !space.takeOver(*vma, previous))
            fresh.push_back(vma);
    }
    space.unmapOthers(previous);

    RangeSet occupied = present;
    for (const PlacedVma& placed : space.vmas_)
        occupied.add({placed.at, placed.at + placed.size()});
    Room room(mm, std::move(occupied));
    FileCache cache(files);
    for (const VmaEntry* vma : fresh) {
        if (late.of(*vma) == LateWork::Map) {
            space.addUnmapped(*vma);
            continue;
        }
        // A mapping with content must be writable until criu has written the content. A mapping without content gets
        // its final protection at once.
        const int protection = hasContent(pages, *vma) ? PROT_READ | PROT_WRITE : protectionOf(*vma);
        if (isOfClones(*vma))
            space.addOfClones(*vma, protection, *clones, room, log);
        else
            space.add(*vma, protection, room, cache, log);
    }
    for (PlacedVma& placed : space.vmas_)
        placed.late = late.of(*placed.vma);
    space.sort();
    return space;
}

void AddressSpace::sort() {
    std::sort(vmas_.begin(), vmas_.end(),
              [](const PlacedVma& one, const PlacedVma& other) { return one.vma->start < other.vma->start; });
}

void AddressSpace::mapDevices(const model::Task& task, MappedFiles& files, Log& log) {
    const MmEntry& mm = **task.mm;
    std::vector<const VmaEntry*> late;
    for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas))
        if (mappingKindOf(*vma).stage() == MapStage::Files)
            late.push_back(vma);
    if (late.empty())
        return;
    Room room(mm, ownMappings());
    FileCache cache(files);
    for (const VmaEntry* vma : late)
        add(*vma, protectionOf(*vma), room, cache, log);
    sort();
}

void AddressSpace::mapSockets(MappedFiles& files) {
    FileCache cache(files);
    for (PlacedVma& placed : vmas_) {
        if (placed.kind->stage() != MapStage::Descriptors)
            continue;
        const VmaEntry& vma = *placed.vma;
        const int flags = static_cast<int>(vma.flags) | MAP_FIXED;
        placed.protection = placed.kind->map({vma, placed.at, protectionOf(vma), flags}, cache);
    }
}

}  // namespace criu::memory
