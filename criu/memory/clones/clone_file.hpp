// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "criu/memory/lazy/lazy_areas.hpp"
#include "images/mm.fwd.hpp"
#include "images/vma.fwd.hpp"

/// Shared-pages file of `restore --map-pages`: a memfd of the shared-pages daemon that all clones map copy-on-write.
/// The page at `address` of process number N in the tree has the file offset N * kCloneSpan + address. Each address has
/// its own offset, so that a growing mapping never reaches the bytes of another mapping.
namespace criu::kernel {
struct Vma;
}

namespace criu::memory {

class PageSource;

/// Bytes of the shared-pages file for each process. Every address of a task is below this number.
inline constexpr std::uint64_t kCloneSpan = std::uint64_t{1} << 47;
/// Name of the shared-pages file; /proc/PID/maps shows it.
inline constexpr std::string_view kCloneFileName = "criu-clones";

/// Returns the mappings of a process that a restore maps from the shared-pages file. Their pages may be lazy, and a
/// private file mapping can replace them. Excludes growing stacks, memory with MADV_WIPEONFORK or MADV_HUGEPAGE, guard
/// regions and mappings with little content.
[[nodiscard]] std::vector<const VmaEntry*> mappingsOfClones(const MmEntry& mm, const PageSource& pages);

/// Part of the shared-pages file that belongs to one restored process.
struct CloneFile {
    int fd = -1;             ///< borrowed descriptor of the file
    std::size_t number = 0;  ///< number of the process in the tree
    LazyAreas areas;         ///< areas of mappingsOfClones()

    [[nodiscard]] std::uint64_t offsetOf(std::uint64_t address) const noexcept { return number * kCloneSpan + address; }
    [[nodiscard]] bool has(const VmaEntry& vma) const noexcept;
};

/// Returns true if a mapping of a running process maps a shared-pages file that a daemon serves.
[[nodiscard]] bool isOfClones(const kernel::Vma& vma) noexcept;

}  // namespace criu::memory
