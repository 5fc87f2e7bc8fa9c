// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/vdso/vdso.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/memory/mappings/own_mappings.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/memory/vdso/compat_vdso.hpp"
#include "criu/memory/vdso/vdso_proxy.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

/// Lowest address of the search for free addresses, if there are none near the dumped vDSO.
constexpr std::uint64_t kVdsoScratchBase = 0x100000000;

void sortByAddress(std::vector<Range>& ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
}

/// Returns the total size of all data mappings. Only total sizes can be compared, because images merge adjacent data
/// mappings.
std::uint64_t totalSize(const std::vector<Range>& ranges) {
    std::uint64_t sum = 0;
    for (const Range& range : ranges)
        sum += range.size();
    return sum;
}

/// Returns the dumped code of the vDSO. The result is empty if the images lack a part of it.
std::vector<std::byte> dumpedCode(Range at, const PageSource& pages) {
    const std::vector<PageJob> jobs = pages.jobs(at.start, at.end);
    if (!std::all_of(jobs.begin(), jobs.end(), [](const PageJob& job) { return job.present(); }))
        return {};
    std::vector<std::byte> code(at.size());
    PageReader reader(pages);
    const ErrorContext context([] { return "the dumped vDSO"; });
    for (const PageJob& job : jobs)
        reader.read(job, std::span(code).subspan(job.address - at.start, job.bytes));
    return code;
}

std::span<const std::byte> codeOf(const VdsoLayout& here) {
    return {reinterpret_cast<const std::byte*>(here.code.start), here.code.size()};
}

/// Returns true if the data mappings have the same distance from the code in both layouts.
bool sameLayout(const VdsoLayout& here, const VdsoLayout& wanted) {
    if (here.code.size() != wanted.code.size() || totalSize(here.data) != totalSize(wanted.data))
        return false;
    return wanted.data.empty() ||
           here.data.front().start - here.code.start == wanted.data.front().start - wanted.code.start;
}

/// Refuses a thread that was dumped within overwritten code, because it would continue in the middle of a jump.
void refuseWithin(const model::Task& task, const VdsoLayout& wanted, const std::vector<VdsoRedirection>& replaced) {
    for (const VdsoRedirection& function : replaced) {
        const Range range{wanted.code.start + function.offset, wanted.code.start + function.offset + function.size};
        for (const model::Thread& thread : task.threads) {
            const std::uint64_t at = instructionPointerOf(**thread.core);
            if (at > range.start && at < range.end)
                fail("thread {} was dumped in the first instructions of the vDSO's {}, which differs in this kernel",
                     thread.tid, function.name);
        }
    }
}

void addMove(std::uint64_t from, std::uint64_t size, std::uint64_t to, pie::StepList& steps) {
    pie::Step& step =
        steps.call(pie::Subject::MoveVdso, to, SYS_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    step.check = pie::ResultCheck::Equals;
}

Mapping mapAt(std::uint64_t at, std::size_t size, int protection) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
    void* const got = ::mmap(reinterpret_cast<void*>(at), size, protection, kFlags, -1, 0);
    if (got == MAP_FAILED)
        failErrno("map {} bytes for a vDSO at {:#x}", size, at);
    return {got, size};
}

}  // namespace

VdsoLayout VdsoLayout::ofSelf() {
    VdsoLayout layout;
    for (const kernel::Vma& vma : kernel::readMaps(kernel::ProcDir().self())) {
        if (vma.name == "[vdso]")
            layout.code = {vma.start, vma.end};
        else if (vma.name.starts_with("[vvar"))
            layout.data.push_back({vma.start, vma.end});
    }
    sortByAddress(layout.data);
    return layout;
}

VdsoLayout VdsoLayout::ofImage(const MmEntry& mm) {
    VdsoLayout layout;
    for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas)) {
        if (is(*vma, VmaStatus::Vdso))
            layout.code = {vma->start, vma->end};
        else if (is(*vma, VmaStatus::Vvar))
            layout.data.push_back({vma->start, vma->end});
    }
    sortByAddress(layout.data);
    return layout;
}

RangeSet VdsoLayout::ranges() const {
    RangeSet set;
    set.add(code);
    for (const Range& range : data)
        set.add(range);
    return set;
}

VdsoMove VdsoMove::plan(const model::Task& task, const PageSource& pages, const VdsoLayout& here,
                        const CompatVdso* compat) {
    const VdsoLayout wanted = VdsoLayout::ofImage(**task.mm);
    VdsoMove move;
    if (wanted.code.size() == 0)
        return move;  // the process had unmapped its vDSO
    std::vector<std::byte> code = dumpedCode(wanted.code, pages);
    if (code.empty())
        fail("the images lack the vDSO's code at {:#x}", wanted.code.start);
    if (compat != nullptr) {
        move.planCompat(task, *compat, wanted, std::move(code));
        return move;
    }
    if (here.code.size() == 0) {
        Error error(0, "the process had a vDSO, but this kernel has none");
        error.addHint("boot without vdso=0");
        throw error;
    }
    move.present_ = here.ranges();
    if (sameLayout(here, wanted) && std::memcmp(code.data(), codeOf(here).data(), code.size()) == 0)
        move.moveAll(here, wanted.code.start);
    else
        move.proxy(task, here, wanted, std::move(code));
    return move;
}

void VdsoMove::planCompat(const model::Task& task, const CompatVdso& kernels, const VdsoLayout& wanted,
                          std::vector<std::byte> code) {
    compatSize_ = kernels.size();
    if (sameLayout(kernels.layout, wanted) && code == kernels.code) {
        moveAll(kernels.layout, wanted.code.start);
        return;
    }
    RangeSet occupied = ownMappings();
    for (const VmaEntry* vma : list((*task.mm)->vmas, (*task.mm)->n_vmas))
        if (vma->start < taskSize())
            occupied.add({vma->start, vma->end});
    const auto room = occupied.findHole(compatSize_, compatVdsoRange().start, compatVdsoRange().end);
    if (!room)
        fail("no room of {} bytes for the vDSO of 32-bit tasks", compatSize_);
    reserved_ = mapAt(*room, compatSize_, PROT_NONE);
    occupied.add({*room, *room + compatSize_});
    const std::uint64_t presentAt = *room + kernels.layout.code.start;
    moveAll(kernels.layout, presentAt);
    refuseWithin(task, wanted, redirectCompatVdso(code, wanted.code.start, kernels.code, presentAt));

    const auto scratch = occupied.findHole(code.size(), kVdsoScratchBase);
    if (!scratch)
        fail("no room of {} bytes for a vDSO", code.size());
    compatOld_ = {saveOld(*scratch, code), wanted.code.start};
    emptyData_ = wanted.data;
}

void VdsoMove::moveAll(const VdsoLayout& here, std::uint64_t newCode) {
    const std::uint64_t delta = newCode - here.code.start;
    pieces_.push_back({here.code, newCode});
    for (const Range& range : here.data)
        pieces_.push_back({range, range.start + delta});
}

void VdsoMove::proxy(const model::Task& task, const VdsoLayout& here, const VdsoLayout& wanted,
                     std::vector<std::byte> code) {
    RangeSet image;
    RangeSet occupied = ownMappings();
    for (const VmaEntry* vma : list((*task.mm)->vmas, (*task.mm)->n_vmas)) {
        if (vma->start >= taskSize())
            continue;
        image.add({vma->start, vma->end});
        occupied.add({vma->start, vma->end});
    }
    const auto findRoom = [&](std::uint64_t size) {
        auto hole = occupied.findHole(size, wanted.code.end);
        if (!hole)
            hole = occupied.findHole(size, kVdsoScratchBase);
        if (!hole)
            fail("no room of {} bytes for a vDSO", size);
        occupied.add({*hole, *hole + size});
        return *hole;
    };

    // The kernel's vDSO stays at its address if no dumped mapping needs this address.
    std::uint64_t presentAt = here.code.start;
    Range whole = here.code;
    for (const Range& range : here.data)
        whole = {std::min(whole.start, range.start), std::max(whole.end, range.end)};
    if (image.overlaps(whole)) {
        const std::uint64_t room = findRoom(whole.size());
        reserved_ = mapAt(room, whole.size(), PROT_NONE);
        presentAt = room + (here.code.start - whole.start);
        moveAll(here, presentAt);
    }

    refuseWithin(task, wanted, redirectVdso(code, codeOf(here), presentAt));
    pieces_.push_back({saveOld(findRoom(code.size()), code), wanted.code.start});
    emptyData_ = wanted.data;
}

Range VdsoMove::saveOld(std::uint64_t at, std::span<const std::byte> code) {
    proxyCode_ = mapAt(at, code.size(), PROT_READ | PROT_WRITE);
    std::memcpy(proxyCode_.data(), code.data(), code.size());
    sys(::mprotect(proxyCode_.data(), proxyCode_.size(), PROT_READ | PROT_EXEC), "protect the old vDSO");
    const Range kept{at, at + proxyCode_.size()};
    present_.add(kept);
    return kept;
}

RangeSet VdsoMove::finalPlaces() const {
    RangeSet places;
    if (compatSize_ == 0) {
        places = present_;
        for (const Piece& piece : pieces_)
            places.remove(piece.from);
    }
    if (compatOld_.from.size() != 0)
        places.add({compatOld_.to, compatOld_.to + compatOld_.from.size()});
    for (const Piece& piece : pieces_)
        places.add({piece.to, piece.to + piece.from.size()});
    for (const Range& range : emptyData_)
        places.add(range);
    return places;
}

std::uint64_t VdsoMove::parkingSize() const noexcept {
    if (compatSize_ != 0)
        return compatSize_;
    std::uint64_t sum = 0;
    for (const Piece& piece : pieces_)
        sum += piece.from.size();
    return sum;
}

void VdsoMove::addCompatSteps(std::uint64_t parking, pie::StepList& steps) const {
    addMapCompatVdso(parking, steps);
    for (const Piece& piece : pieces_)
        addMove(parking + piece.from.start, piece.from.size(), piece.to, steps);
    if (compatOld_.from.size() != 0)
        addMove(compatOld_.from.start, compatOld_.from.size(), compatOld_.to, steps);
    addEmptyData(steps);
}

void VdsoMove::addEmptyData(pie::StepList& steps) const {
    for (const Range& range : emptyData_) {
        constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
        pie::Step& step = steps.call(pie::Subject::MoveVdso, range.start, SYS_mmap, range.start, range.size(),
                                     PROT_READ, kFlags, -1, 0);
        step.check = pie::ResultCheck::EqualsFirst;
    }
}

void VdsoMove::addSteps(std::uint64_t parking, pie::StepList& steps) const {
    if (compatSize_ != 0) {
        addCompatSteps(parking, steps);
        return;
    }
    const auto remap = [&](std::uint64_t from, std::uint64_t size, std::uint64_t to) {
        addMove(from, size, to, steps);
    };
    bool overlap = false;
    bool inPlace = true;
    for (const Piece& piece : pieces_) {
        inPlace = inPlace && piece.from.start == piece.to;
        for (const Piece& other : pieces_)
            overlap = overlap || (piece.from.start < other.to + other.from.size() && other.to < piece.from.end);
    }
    if (overlap && !inPlace) {
        std::uint64_t at = parking;
        for (const Piece& piece : pieces_) {
            remap(piece.from.start, piece.from.size(), at);
            at += piece.from.size();
        }
        at = parking;
        for (const Piece& piece : pieces_) {
            remap(at, piece.from.size(), piece.to);
            at += piece.from.size();
        }
    } else if (!inPlace) {
        for (const Piece& piece : pieces_)
            remap(piece.from.start, piece.from.size(), piece.to);
    }
    addEmptyData(steps);
}

}  // namespace criu::memory
