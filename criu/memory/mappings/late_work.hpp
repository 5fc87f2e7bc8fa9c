// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "images/mm.fwd.hpp"
#include "images/vma.fwd.hpp"

/// Mappings of a restored process that the restorer's program creates or protects after criu's memory is unmapped.
/// While criu's memory exists, both together could exceed vm.max_map_count.
namespace criu::memory {

class PageSource;

/// Work on a private anonymous mapping that is left to the restorer's program.
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
    /// as many mappings as needed, or for all possible mappings.
    static LateWorkPlan choose(const MmEntry& mm, const PageSource& pages, std::size_t allowed);

    /// Returns the maximum number of mappings that late work avoids while criu's memory exists, whatever pages contain.
    [[nodiscard]] static std::size_t mostSaved(const MmEntry& mm);
    /// Returns the minimum number of mappings that late work avoids, whatever pages contain.
    [[nodiscard]] static std::size_t leastSaved(const MmEntry& mm);

    [[nodiscard]] LateWork of(const VmaEntry& vma) const noexcept;
    /// Number of mappings that the process lacks until the restorer's program does the late work.
    [[nodiscard]] std::size_t saved() const noexcept { return saved_; }

private:
    std::unordered_map<const VmaEntry*, LateWork> work_;
    std::size_t saved_ = 0;
};

}  // namespace criu::memory
