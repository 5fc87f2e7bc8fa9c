// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "images/mm.fwd.hpp"
#include "images/vma.fwd.hpp"

/// Mappings of a restored process that wait until criu's memory is unmapped, because the kernel allows a process only
/// so many (vm.max_map_count).
namespace criu::memory {

class PageSource;

/// Work on a private anonymous mapping that is left to the restorer's program.
enum class LateWork : std::uint8_t {
    None,
    Map,      ///< maps it; only without content
    Protect,  ///< gives it its protection. Until then it is writable, and one with its neighbours for the kernel
};

/// Choice of late work for one process.
class LateWorkPlan {
public:
    /// Chooses nothing if `mm` has room for criu's mappings below `allowed`. Otherwise chooses as many mappings as
    /// that needs, or all that can wait.
    static LateWorkPlan choose(const MmEntry& mm, const PageSource& pages, std::size_t allowed);

    /// Returns how many mappings can be missing at most while criu's memory is there, whatever their content is.
    [[nodiscard]] static std::size_t mostSaved(const MmEntry& mm);
    /// Returns how many can be missing at least.
    [[nodiscard]] static std::size_t leastSaved(const MmEntry& mm);

    [[nodiscard]] LateWork of(const VmaEntry& vma) const noexcept;
    /// Number of mappings that the process has less until the program does the work.
    [[nodiscard]] std::size_t saved() const noexcept { return saved_; }

private:
    std::unordered_map<const VmaEntry*, LateWork> work_;
    std::size_t saved_ = 0;
};

}  // namespace criu::memory
