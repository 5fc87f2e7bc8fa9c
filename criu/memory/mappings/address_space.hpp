// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/memory/mappings/mapped_files.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::memory {

class LazyAreas;
class MappingKind;
struct CloneFile;

/// One mapping of the image in the process that is being restored.
struct PlacedVma {
    const VmaEntry* vma = nullptr;
    const MappingKind* kind = nullptr;
    std::uint64_t at = 0;  ///< where it is now; the final place is vma->start
    bool mapped = false;
    bool inherited = false;  ///< came with fork, pages shared copy-on-write with the creator
    bool ofClones = false;   ///< maps the file that clones have in common
    bool filled = false;    ///< some pages of it are private: this process, or one that it inherited it from, made them
    bool complete = false;  ///< it has the content that it is to have in this process
    int protection = 0;     ///< what it has now

    [[nodiscard]] bool moved() const noexcept { return mapped && at != vma->start; }
    [[nodiscard]] std::uint64_t size() const noexcept { return vma->end - vma->start; }
};

/// Builds a process' memory beside criu's own, which it runs on meanwhile: every mapping is made at its final address
/// where that is free, else elsewhere, and is moved by the restorer's program when criu's memory is gone. Contents are
/// filled here, by ordinary code and threads.
///
/// Fork hands the half-built memory to a child, so pages that parent and child shared copy-on-write at dump are shared
/// again: the child takes over mappings it has in common with its creator and only touches pages that differ. What
/// the image says no other process had a page of needn't be handed on: it is filled when there are children already.
class AddressSpace {
public:
    /// An empty one, for the first process.
    AddressSpace() = default;

    /// Maps everything of `task` that has content (and what is common with children to come). `pages`: its private
    /// pages; `previous`: what the process inherited from its creator at fork; `present`: what else it has mapped, as
    /// far as known (ownMappings() of whoever created the first process): asked for again in each process that took a
    /// tenth of a restore of small ones; `clones`: what is mapped of a file that other restores of the same images
    /// map, too, instead of being filled (--map-pages), or null.
    static AddressSpace build(const model::Task& task, const PageSource& pages, const AddressSpace& previous,
                              const RangeSet& present, MappedFiles& files, const CloneFile* clones, Log& log);

    /// Maps the memory of devices, which are there once the process' files are open. After fill().
    void mapDevices(const model::Task& task, MappedFiles& files, Log& log);

    struct FillRules {
        const LazyAreas& late;  ///< what may come late in it is left out
        bool frees = false;     ///< storage of what was read is freed
        ReadWatch watch = {};   ///< is told of most of it: not of pages that are only compared
    };
    /// Which content is read: what the image doesn't call exclusive, or all that wasn't read yet.
    enum class Content : std::uint8_t { ForChildren, All };
    /// Reads contents. Runs threads for large memories; none is alive afterwards.
    void fill(const PageSource& pages, const FillRules& rules, Content which, Log& log);

    /// Makes the contexts of asynchronous I/O, which fork doesn't hand on: when all children have been created.
    void createAioRings(const model::Task& task, const PageSource& pages);

    /// Maps what belongs to sockets. When these are at their descriptors' numbers.
    void mapSockets(MappedFiles& files);

    /// Sets final protections, advice and locks. After this the content can't be touched any more.
    void seal();

    /// Steps that take away all memory but this and `keep` (the restorer's own, the vDSO).
    void addUnmapSteps(const RangeSet& keep, pie::StepList& steps) const;
    /// Steps that map rings of io_uring, for which the kernel doesn't accept a place but chooses one: when all else is
    /// where it belongs and no other place is free. `others`: what is there beside this.
    void addIoUringSteps(MappedFiles& files, const RangeSet& others, pie::StepList& steps) const;
    /// Steps that move what isn't in place yet; once the vDSO is.
    void addMoveSteps(pie::StepList& steps) const;

    /// Final addresses of all mappings: nothing of criu's may be put there for good.
    [[nodiscard]] RangeSet targets() const;

    [[nodiscard]] const std::vector<PlacedVma>& vmas() const noexcept { return vmas_; }

    std::uint64_t comparedPages = 0;
    std::uint64_t sharedPages = 0;
    std::uint64_t restoredPages = 0;

private:
    class Room;

    bool takeOver(const VmaEntry& vma, const AddressSpace& previous);
    void addOfClones(const VmaEntry& vma, int protection, const CloneFile& clones, Room& room, Log& log);
    void addPlaced(PlacedVma placed, Log& log);
    void unmapOthers(const AddressSpace& previous) const;
    void installGuards() const;
    void sort();
    void add(const VmaEntry& vma, int protection, Room& room, FileCache& files, Log& log);
    static void choosePlace(PlacedVma& placed, const RangeSet& occupied);
    void createAioRing(const AioRingEntry& ring, const VmaEntry& vma, const PageSource& pages, const MmEntry& mm);
    static void makeWritable(PlacedVma& placed);
    void fillInherited(const PlacedVma& placed, const Range& piece, const PageSource& pages, const LazyAreas& late,
                       PageReader& reader, std::span<std::byte> block);

    std::vector<PlacedVma> vmas_;
    std::vector<Range> guards_;
};

}  // namespace criu::memory
