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

/// Clones (restore --map-pages): processes that are restored from the same images map private memory copy-on-write of
/// one file in memory, a memfd that the keeper of the clones has. Of a process with the number N in the tree, the page
/// of an address is at N * kCloneSpan + address: so a mapping that grows reaches no other one's bytes, and no end.
namespace criu::kernel {
struct Vma;
}

namespace criu::memory {

class PageSource;

/// What each process has of the file; no address of a task is above it.
inline constexpr std::uint64_t kCloneSpan = std::uint64_t{1} << 47;
/// The name of the file, which mappings show.
inline constexpr std::string_view kCloneFileName = "criu-clones";

/// Mappings of a process that are mapped of the file: those whose pages may come late and that a private mapping of a
/// file can stand for. Stacks that grow can't be such, nor memory that a fork wipes, that has guard regions or that has
/// asked for huge pages; what has little content is filled as ever.
[[nodiscard]] std::vector<const VmaEntry*> mappingsOfClones(const MmEntry& mm, const PageSource& pages);

/// What one process maps of it, on a restore.
struct CloneFile {
    int fd = -1;             ///< stays the owner's
    std::size_t number = 0;  ///< of the process in the tree
    LazyAreas areas;         ///< of mappingsOfClones()

    [[nodiscard]] std::uint64_t offsetOf(std::uint64_t address) const noexcept { return number * kCloneSpan + address; }
    [[nodiscard]] bool has(const VmaEntry& vma) const noexcept;
};

/// Whether a mapping of a process is one of such a file, of a keeper that serves it: private memory to its process.
[[nodiscard]] bool isOfClones(const kernel::Vma& vma) noexcept;

}  // namespace criu::memory
