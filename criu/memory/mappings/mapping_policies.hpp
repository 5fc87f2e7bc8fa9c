// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

struct VmaEntry;

namespace compel {
class Injection;
class Tracee;
}  // namespace compel

namespace criu {
class Arena;
class StopRequest;
}  // namespace criu

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

/// NUMA memory policies of single mappings (mbind(2)).
namespace criu::memory {

/// Query of the memory policies of a process' mappings, split into parts. The first part runs together with the other
/// queries of the process. If more mappings exist, queryRest() runs the remaining parts.
class PolicyQueries {
public:
    /// store() and queryRest() write the policies into the entries. The entries and `arena` must outlive this object.
    PolicyQueries(std::vector<VmaEntry*> mappings, Arena& arena) : mappings_(std::move(mappings)), arena_(arena) {}

    /// Returns the number of bytes that the first part needs in the memory of the process.
    [[nodiscard]] std::size_t room() const;
    void ask(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers) const;
    /// Runs the remaining queries in an idle thread of the process. Throws Error, and the exceptions of `stop`.
    void queryRest(compel::Tracee& thread, compel::Injection& injection, StopRequest& stop) const;

private:
    /// Returns the part that begins with mapping number `first`.
    [[nodiscard]] std::span<VmaEntry* const> part(std::size_t first) const;

    std::vector<VmaEntry*> mappings_;
    Arena& arena_;
    std::uint64_t answersAt_ = 0;  ///< position of the first part's results in RemoteData; set by ask()
};

/// Returns true if two mappings have the same policy.
[[nodiscard]] bool samePolicy(const VmaEntry& one, const VmaEntry& other) noexcept;

/// Sets the policy of `vma` for memory of this process at `at`. Returns false if mbind(2) fails, for instance on a
/// machine without these NUMA nodes. The restore then continues with a warning.
[[nodiscard]] bool setPolicy(const VmaEntry& vma, std::uint64_t at) noexcept;

}  // namespace criu::memory
