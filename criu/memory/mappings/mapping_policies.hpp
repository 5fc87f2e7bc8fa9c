// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/vma.fwd.hpp"

/// On which nodes of the machine (NUMA) the kernel makes the pages of single mappings: mbind(2).
namespace criu::memory {

/// Asks a process about some of its mappings.
class MappingPoliciesQuery {
public:
    /// How many are asked about at once, and the bytes that a question takes in the process.
    static constexpr std::size_t kAtOnce = 128;
    static constexpr std::size_t kRoom = 256;

    /// `mappings`: kAtOnce at most; they outlive this object.
    MappingPoliciesQuery(std::span<VmaEntry* const> mappings, pie::StepList& steps, pie::RemoteData& data);
    /// Notes in the entries what has been chosen for them. `arena` outlives these.
    void store(pie::RemoteData& answers, Arena& arena) const;

private:
    std::span<VmaEntry* const> mappings_;
    std::uint64_t answersAt_ = 0;
};

/// Whether two mappings have the same policy.
[[nodiscard]] bool samePolicy(const VmaEntry& one, const VmaEntry& other) noexcept;

/// Gives a mapping of this process at `at` its policy, if it has one. A machine without those nodes is no reason to
/// fail: false then.
[[nodiscard]] bool setPolicy(const VmaEntry& vma, std::uint64_t at) noexcept;

}  // namespace criu::memory
