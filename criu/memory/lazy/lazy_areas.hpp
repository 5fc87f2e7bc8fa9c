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

/// Whether pages of a mapping may be supplied after its process runs: anonymous private memory of ordinary pages, which
/// isn't locked (mlock(2) promises that nobody waits for a page).
[[nodiscard]] bool canBeLazy(const VmaEntry& vma) noexcept;

/// What a process uses right at its start, or what is looked at from outside: its pages come at once.
class EagerMemory {
public:
    /// The arguments and the environment, which /proc shows.
    explicit EagerMemory(const MmEntry& mm);

    /// What a thread uses as soon as it runs.
    void addStack(std::uint64_t pointer);
    void addRseq(std::uint64_t address, std::uint64_t size);

    [[nodiscard]] std::span<const Range> ranges() const noexcept { return ranges_; }

private:
    void add(const Range& range);

    std::vector<Range> ranges_;
};

/// The parts of a process' memory whose pages may come after it runs (--lazy-pages).
class LazyAreas {
public:
    /// None.
    LazyAreas() = default;
    LazyAreas(const MmEntry& mm, const EagerMemory& touched);
    /// The same for mappings that no entry has yet.
    LazyAreas(std::span<const VmaEntry* const> vmas, const EagerMemory& touched);

    [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }

    /// The mappings that any of it is in, as a whole.
    [[nodiscard]] std::span<const Range> mappings() const noexcept { return mappings_; }

    /// Visits all of a job in ascending order, in pieces that are late or not. What may not be late by itself never is.
    template <typename Visit>
    void forEach(const PageJob& job, Visit&& visit) const;

private:
    /// The first part that ends behind an address.
    [[nodiscard]] std::vector<Range>::const_iterator from(std::uint64_t address) const noexcept;

    std::vector<Range> mappings_;
    std::vector<Range> parts_;  ///< ascending
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
