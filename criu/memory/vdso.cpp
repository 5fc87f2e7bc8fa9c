// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/vdso.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/maps.hpp"
#include "criu/memory/vma_status.hpp"

namespace criu::memory {
namespace {

void sortByAddress(std::vector<Range>& ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
}

/// Sums, since images merge neighbours that the kernel keeps apart.
std::uint64_t totalSize(const std::vector<Range>& ranges) {
    std::uint64_t sum = 0;
    for (const Range& range : ranges)
        sum += range.size();
    return sum;
}

bool sameCode(const Pagemap& pagemap, Range dumped, Range here, const ImageDir& images) {
    const PagemapRange* const range = pagemap.find(dumped.start);
    if (range == nullptr || range->end() < dumped.end || !has(range->flags, PageFlags::Present))
        return false;
    const auto pages = pagemap.openPages(images, O_RDONLY | O_CLOEXEC);
    std::vector<std::byte> content(dumped.size());
    const std::uint64_t offset = range->fileOffset + (dumped.start - range->vaddr);
    if (!pages || ::pread(pages->get(), content.data(), content.size(), static_cast<off_t>(offset)) !=
                      static_cast<ssize_t>(content.size()))
        failErrno("read the dumped vDSO");
    return std::memcmp(content.data(), reinterpret_cast<const void*>(here.start), content.size()) == 0;
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

VdsoMove VdsoMove::plan(const model::Task& task, const ImageDir& images) {
    const VdsoLayout here = VdsoLayout::ofSelf();
    const VdsoLayout wanted = VdsoLayout::ofImage(**task.mm);
    VdsoMove move;
    if (wanted.code.size() == 0)
        return move;  // the process had unmapped its vDSO
    const bool sameData = totalSize(here.data) == totalSize(wanted.data) &&
                          (wanted.data.empty() || here.data.front().start - here.code.start ==
                                                      wanted.data.front().start - wanted.code.start);
    if (here.code.size() != wanted.code.size() || !sameData || !task.pagemap ||
        !sameCode(*task.pagemap, wanted.code, here.code, images)) {
        Error error(0, "the vDSO of this kernel differs from the one the process was dumped with");
        error.addHint("restore under the kernel of the dump");
        throw error;
    }
    const std::uint64_t delta = wanted.code.start - here.code.start;
    move.pieces_.push_back({here.code, wanted.code.start});
    for (const Range& range : here.data)
        move.pieces_.push_back({range, range.start + delta});
    move.present_ = here.ranges();
    return move;
}

std::uint64_t VdsoMove::parkingSize() const noexcept {
    std::uint64_t sum = 0;
    for (const Piece& piece : pieces_)
        sum += piece.from.size();
    return sum;
}

void VdsoMove::addSteps(std::uint64_t parking, pie::StepList& steps) const {
    const auto remap = [&](std::uint64_t from, std::uint64_t size, std::uint64_t to) {
        pie::Step& step = steps.call(pie::Subject::MoveVdso, to, SYS_mremap, from, size, size,
                                     MREMAP_MAYMOVE | MREMAP_FIXED, to);
        step.judge = pie::Judge::Equals;
    };
    bool overlap = false;
    bool inPlace = true;
    for (const Piece& piece : pieces_) {
        inPlace = inPlace && piece.from.start == piece.to;
        for (const Piece& other : pieces_)
            overlap = overlap || (piece.from.start < other.to + other.from.size() && other.to < piece.from.end);
    }
    if (inPlace)
        return;
    std::uint64_t at = parking;
    for (const Piece& piece : pieces_) {
        if (overlap) {
            remap(piece.from.start, piece.from.size(), at);
            at += piece.from.size();
        } else {
            remap(piece.from.start, piece.from.size(), piece.to);
        }
    }
    if (!overlap)
        return;
    at = parking;
    for (const Piece& piece : pieces_) {
        remap(at, piece.from.size(), piece.to);
        at += piece.from.size();
    }
}

}  // namespace criu::memory
