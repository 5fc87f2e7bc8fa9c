// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/vma.fwd.hpp"

/// NUMA memory policies of single mappings (mbind(2)).
namespace criu::memory {

/// Query of the policies of some mappings of a process.
class MappingPoliciesQuery {
public:
    /// Maximal number of mappings per query, and bytes that each needs in the process.
    static constexpr std::size_t kAtOnce = 128;
    static constexpr std::size_t kRoom = 256;

    /// `mappings`: at most kAtOnce, which must outlive this object.
    MappingPoliciesQuery(std::span<VmaEntry* const> mappings, pie::StepList& steps, pie::RemoteData& data);
    /// Stores the policies in the entries. `arena` must outlive them.
    void store(pie::RemoteData& answers, Arena& arena) const;

private:
    std::span<VmaEntry* const> mappings_;
    std::uint64_t answersAt_ = 0;
};

/// Returns true if two mappings have the same policy.
[[nodiscard]] bool samePolicy(const VmaEntry& one, const VmaEntry& other) noexcept;

/// Sets the policy of a mapping of this process at `at`, if it has one. Returns false if the machine lacks its nodes,
/// which is no error.
[[nodiscard]] bool setPolicy(const VmaEntry& vma, std::uint64_t at) noexcept;

}  // namespace criu::memory
