// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "images/mm.fwd.hpp"
#include "images/vma.fwd.hpp"

namespace criu::memory {

/// Returns true if pages of a mapping may be lazy: anonymous private memory of ordinary pages that isn't locked.
/// mlock(2) promises that an access never waits.
[[nodiscard]] bool canBeLazy(const VmaEntry& vma) noexcept;

/// Eager memory: ranges that a process accesses first or that other processes read. criu fills these ranges before the
/// process runs.
class EagerMemory {
public:
    /// Adds the arguments and the environment, which /proc shows.
    explicit EagerMemory(const MmEntry& mm);

    /// Adds memory that a thread accesses first: the page with its stack pointer, and its rseq area (addRseq()).
    void addStack(std::uint64_t pointer);
    void addRseq(std::uint64_t address, std::uint64_t size);

    [[nodiscard]] std::span<const Range> ranges() const noexcept { return ranges_; }

private:
    void add(const Range& range);

    std::vector<Range> ranges_;
};

/// Lazy areas: ranges whose pages a restore may transfer after the process runs (--lazy-pages).
class LazyAreas {
public:
    /// Creates an empty set.
    LazyAreas() = default;
    LazyAreas(const MmEntry& mm, const EagerMemory& touched);
    /// Creates the areas for a list of mappings.
    LazyAreas(std::span<const VmaEntry* const> vmas, const EagerMemory& touched);

    [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }

    /// Returns the mappings that may contain lazy pages. The ranges include parts without lazy pages.
    [[nodiscard]] std::span<const Range> mappings() const noexcept { return mappings_; }

    /// Calls `visit` with all parts of a job in ascending order. The second argument is true if the part is lazy. No
    /// part is lazy if the job doesn't have lazyAllowed.
    template <typename Visit>
    void forEach(const PageJob& job, Visit&& visit) const;

private:
    /// Returns the first lazy area whose end is above an address.
    [[nodiscard]] std::vector<Range>::const_iterator from(std::uint64_t address) const noexcept;

    std::vector<Range> mappings_;
    std::vector<Range> parts_;  ///< lazy areas, ascending
};

template <typename Visit>
void LazyAreas::forEach(const PageJob& job, Visit&& visit) const {
    PageJob rest = job;
    const auto piece = [&](std::uint64_t end, bool late) {
        PageJob part = rest;
        part.bytes = end - rest.address;
        visit(part, late);
        rest = rest.from(end);
    };
    if (job.lazyAllowed)
        for (auto part = from(job.address); part != parts_.end() && part->start < job.end(); ++part) {
            if (part->start > rest.address)
                piece(part->start, false);
            piece(std::min(part->end, job.end()), true);
        }
    if (rest.bytes != 0)
        piece(job.end(), false);
}

}  // namespace criu::memory
