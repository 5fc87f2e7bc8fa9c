// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "images/mm.fwd.hpp"
#include "images/vma.fwd.hpp"

/// Late work: mappings of a restored process that the restorer's program creates or protects only after criu's memory
/// is unmapped. As long as criu's memory exists, all mappings together could exceed vm.max_map_count.
namespace criu::memory {

class PageSource;

/// Work on a private anonymous mapping that the restorer's program does.
enum class LateWork : std::uint8_t {
    None,
    Map,      ///< creates the mapping; chosen only for mappings without content
    Protect,  ///< sets the protection. Until then the mapping is writable, and the kernel merges it with its
              ///< neighbours.
};

/// Choice of late work for one process.
class LateWorkPlan {
public:
    /// Chooses no work if the mappings of `mm` and of criu together are at most `allowed`. Otherwise chooses work for
    /// as many mappings as necessary; if that isn't enough, for all possible mappings.
    static LateWorkPlan choose(const MmEntry& mm, const PageSource& pages, std::size_t allowed);

    /// Returns the maximum number of mappings that late work can avoid while criu's memory exists, for any content of
    /// the pages.
    [[nodiscard]] static std::size_t mostSaved(const MmEntry& mm);
    /// Returns the minimum number of mappings that late work can avoid, for any content of the pages.
    [[nodiscard]] static std::size_t leastSaved(const MmEntry& mm);

    [[nodiscard]] LateWork of(const VmaEntry& vma) const noexcept;
    /// Number of dumped mappings that don't exist before the restorer's program does the late work.
    [[nodiscard]] std::size_t saved() const noexcept { return saved_; }

private:
    std::unordered_map<const VmaEntry*, LateWork> work_;
    std::size_t saved_ = 0;
};

}  // namespace criu::memory
