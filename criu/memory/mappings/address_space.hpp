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

/// Mapping of the image, with its state in the process that is being restored.
struct PlacedVma {
    const VmaEntry* vma = nullptr;
    const MappingKind* kind = nullptr;
    std::uint64_t at = 0;  ///< current address; the final address is vma->start
    bool mapped = false;
    /// True if the process inherited it by fork: it then shares pages copy-on-write with the creator.
    bool inherited = false;
    bool ofClones = false;  ///< true if it maps the shared-pages file
    bool filled = false;    ///< true if it has private pages, which this process or an ancestor filled
    bool complete = false;  ///< true if it has its final content in this process
    /// Addresses in the images of the private pages that this process or an ancestor filled. Only for mappings of
    /// files.
    RangeSet own{};
    int protection = 0;  ///< current protection
    LateWork late{};     ///< work on this mapping that the restorer's program does later

    [[nodiscard]] bool moved() const noexcept { return mapped && at != vma->start; }
    [[nodiscard]] std::uint64_t size() const noexcept { return vma->end - vma->start; }
    /// Returns true if pages that weren't filled show a file.
    [[nodiscard]] bool showsFile() const noexcept { return is(*vma, VmaStatus::FilePrivate); }
};

/// Memory of a restored process, while criu builds it. The process runs in criu's memory until the restorer starts, so
/// the process has both memories at the same time. criu creates each mapping at its final address if that address is
/// free. Otherwise the restorer's program moves the mapping after criu's memory is unmapped.
///
/// A child inherits the half-built memory by fork. So it shares pages copy-on-write again that were shared at the dump.
/// The child uses inherited mappings that equal its own, and writes only pages that differ. In mappings of files, the
/// child also writes pages that no ancestor has filled. criu fills pages that no other process shared at the dump after
/// the children are created.
class AddressSpace {
public:
    /// Creates an empty address space, which is the `previous` of the root process.
    AddressSpace() = default;

    /// Creates the mappings of `task` that can exist before files are open, including mappings that only future
    /// children need.
    /// - `pages`: private pages of the task.
    /// - `previous`: mappings that the task inherited from its creator.
    /// - `clones`: shared-pages file (--map-pages), or null.
    /// - `present`: other known mappings, from one ownMappings() call before the first process was created. A call in
    ///   each process took a tenth of the restore time of small processes.
    /// - `allowed`: maximum number of mappings of a process (vm.max_map_count).
    static AddressSpace build(const model::Task& task, const PageSource& pages, const AddressSpace& previous,
                              const RangeSet& present, MappedFiles& files, const CloneFile* clones, std::size_t allowed,
                              Log& log);

    /// Maps device memory. Must follow fill(), and the files of the process must be open.
    void mapDevices(const model::Task& task, MappedFiles& files, Log& log);

    struct FillRules {
        const LazyAreas& late;  ///< lazy areas, which fill() leaves empty
        bool frees = false;     ///< frees the storage of content that was read
        /// Called for pages that are read, except for pages that are compared with inherited memory.
        ReadWatch watch = {};
        unsigned threads = 0;  ///< maximum number of reading threads; 0: one for each processor
        /// Size of the smallest huge page that a page fault gets without advice (kernel::smallestHugePage()). fill()
        /// reads into mappings with room for such a page, so that they get huge pages.
        std::uint64_t hugePage = 1;
    };
    /// Content that fill() reads. ForChildren: content of mappings whose pages other processes may share. All: content
    /// of all mappings that aren't filled.
    enum class Content : std::uint8_t { ForChildren, All };
    /// Reads contents of mappings. May use threads, which have ended when this returns.
    void fill(const PageSource& pages, const FillRules& rules, Content which, Log& log);

    /// Creates AIO contexts. Must follow the creation of all children, because fork(2) doesn't copy contexts.
    void createAioRings(const model::Task& task, const PageSource& pages);

    /// Maps rings of packet sockets. The sockets must have their final descriptor numbers.
    void mapSockets(MappedFiles& files);

    /// Sets final protections, advice, locks and guard regions. criu can't change contents afterwards.
    void seal();

    /// Adds steps that unmap all memory except the mappings of this object and `keep` (the restorer and the vDSO).
    void addUnmapSteps(const RangeSet& keep, pie::StepList& steps) const;
    /// Adds the steps of memory::addIoUringSteps() for all rings of which the process has a descriptor. All other
    /// memory must be at its final address. `others`: ranges outside of this address space.
    void addIoUringSteps(MappedFiles& files, const RangeSet& others, pie::StepList& steps) const;
    /// Adds steps that move mappings to their final addresses. Must follow the steps that move the vDSO.
    void addMoveSteps(pie::StepList& steps) const;
    /// Adds steps for the work that LateWorkPlan has assigned to the restorer's program. Must follow addMoveSteps().
    void addLateSteps(pie::StepList& steps) const;

    /// Returns the final ranges of all mappings. criu must not use these ranges for memory that it still needs at the
    /// end.
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
    void fillInherited(PlacedVma& placed, const Range& piece, const PageSource& pages, const LazyAreas& late,
                       PageReader& reader, std::span<std::byte> block);

    std::vector<PlacedVma> vmas_;
    std::vector<Range> guards_;
};

}  // namespace criu::memory
