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
enum class LateWork : std::uint8_t;
struct CloneFile;

/// Mapping of the image in the process that is being restored.
struct PlacedVma {
    const VmaEntry* vma = nullptr;
    const MappingKind* kind = nullptr;
    std::uint64_t at = 0;  ///< current address; the final address is vma->start
    bool mapped = false;
    bool inherited = false;  ///< inherited by fork: shares pages copy-on-write with the creator
    bool ofClones = false;   ///< maps the shared-pages file
    bool filled = false;     ///< has private pages, made by this process or an ancestor
    bool complete = false;   ///< has its final content in this process
    int protection = 0;      ///< current protection
    LateWork late{};         ///< work that the restorer's program does

    [[nodiscard]] bool moved() const noexcept { return mapped && at != vma->start; }
    [[nodiscard]] std::uint64_t size() const noexcept { return vma->end - vma->start; }
};

/// Builds the memory of a process beside criu's, which the process runs on until the restorer takes over. Every
/// mapping is made at its final address if free. Otherwise the restorer's program moves it when criu's memory is
/// unmapped. Ordinary code and threads of criu fill the contents.
/// Fork passes the half-built memory to a child, so pages that were shared copy-on-write are shared again. The child
/// takes over equal mappings of its creator, and writes only differing pages.
/// Pages that no other process shared at the dump are filled after the children are created.
class AddressSpace {
public:
    /// Creates an empty address space, for the root.
    AddressSpace() = default;

    /// Maps all mappings of `task` that have content, and those needed by future children.
    /// `pages`: its private pages. `previous`: mappings inherited from its creator. `clones`: shared-pages file
    /// (--map-pages), or null.
    /// `present`: other known mappings, from ownMappings() before the first process was created. Reading them again
    /// in each process took a tenth of the restore time of small processes.
    /// `allowed`: number of mappings that a process may have.
    static AddressSpace build(const model::Task& task, const PageSource& pages, const AddressSpace& previous,
                              const RangeSet& present, MappedFiles& files, const CloneFile* clones, std::size_t allowed,
                              Log& log);

    /// Maps device memory. Must follow fill() and the opening of the process' files.
    void mapDevices(const model::Task& task, MappedFiles& files, Log& log);

    struct FillRules {
        const LazyAreas& late;  ///< lazy areas, which are skipped
        bool frees = false;     ///< frees storage of read content
        ReadWatch watch = {};   ///< is notified of most pages, but not of compared ones
        unsigned threads = 0;   ///< limit of reading threads; 0: all processors
    };
    /// Content to read: pages that the image doesn't mark as exclusive, or all unread pages.
    enum class Content : std::uint8_t { ForChildren, All };
    /// Reads contents. Uses threads for large memories, which have ended when it returns.
    void fill(const PageSource& pages, const FillRules& rules, Content which, Log& log);

    /// Creates AIO contexts. Must follow the creation of all children, because fork doesn't copy contexts.
    void createAioRings(const model::Task& task, const PageSource& pages);

    /// Maps memory of sockets. Must follow the placement of their descriptors.
    void mapSockets(MappedFiles& files);

    /// Sets final protections, advice and locks. Content can't be changed afterwards.
    void seal();

    /// Adds steps that unmap all memory except this and `keep` (the restorer and the vDSO).
    void addUnmapSteps(const RangeSet& keep, pie::StepList& steps) const;
    /// Adds steps that map io_uring rings, whose address the kernel chooses. They fill all other free addresses
    /// first, so all other memory must be at its final address. `others`: ranges outside of this address space.
    void addIoUringSteps(MappedFiles& files, const RangeSet& others, pie::StepList& steps) const;
    /// Adds steps that move mappings to their final addresses. Must follow the steps of the vDSO.
    void addMoveSteps(pie::StepList& steps) const;
    /// Adds steps that do the late work (LateWorkPlan). Must follow addMoveSteps().
    void addLateSteps(pie::StepList& steps) const;

    /// Returns the final ranges of all mappings, which criu must not use for lasting memory.
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
    void addUnmapped(const VmaEntry& vma);
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
