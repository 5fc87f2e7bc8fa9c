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
/// The page at `address` of process number N in the tree has the offset N * kCloneSpan + address. So a growing
/// mapping reaches no other mapping's bytes, and never the end.
namespace criu::kernel {
struct Vma;
}

namespace criu::memory {

class PageSource;

/// Bytes of the file per process; no address of a task is above it.
inline constexpr std::uint64_t kCloneSpan = std::uint64_t{1} << 47;
/// Name of the file, which mappings show.
inline constexpr std::string_view kCloneFileName = "criu-clones";

/// Returns the mappings that a process gets from the file: those whose pages may be lazy, and that a private file
/// mapping can replace. Excludes growing stacks and memory with MADV_WIPEONFORK, guard regions, MADV_HUGEPAGE or
/// little content.
[[nodiscard]] std::vector<const VmaEntry*> mappingsOfClones(const MmEntry& mm, const PageSource& pages);

/// Shared-pages file of one process, for its restore.
struct CloneFile {
    int fd = -1;             ///< descriptor, borrowed
    std::size_t number = 0;  ///< number of the process in the tree
    LazyAreas areas;         ///< areas of mappingsOfClones()

    [[nodiscard]] std::uint64_t offsetOf(std::uint64_t address) const noexcept { return number * kCloneSpan + address; }
    [[nodiscard]] bool has(const VmaEntry& vma) const noexcept;
};

/// Returns true if a mapping is of a shared-pages file and its daemon serves it. It is private memory of its process.
[[nodiscard]] bool isOfClones(const kernel::Vma& vma) noexcept;

}  // namespace criu::memory
