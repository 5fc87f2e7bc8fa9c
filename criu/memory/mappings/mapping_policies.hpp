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

/// Query of the memory policies of a process' mappings. The first part runs with all other queries; many mappings need
/// more runs.
class PolicyQueries {
public:
    /// Policies are stored in the entries, which must outlive this object, as must `arena`.
    PolicyQueries(std::vector<VmaEntry*> mappings, Arena& arena) : mappings_(std::move(mappings)), arena_(arena) {}

    /// Returns the bytes that the first part needs in the process' memory.
    [[nodiscard]] std::size_t room() const;
    void ask(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers) const;
    /// Runs the remaining queries in an idle thread of the process. Throws Error, and the exceptions of `stop`.
    void queryRest(compel::Tracee& thread, compel::Injection& injection, StopRequest& stop) const;

private:
    /// Returns the mappings of the part that begins with `first`.
    [[nodiscard]] std::span<VmaEntry* const> part(std::size_t first) const;

    std::vector<VmaEntry*> mappings_;
    Arena& arena_;
    std::uint64_t answersAt_ = 0;  ///< position of the first part; set by ask()
};

/// Returns true if two mappings have the same policy.
[[nodiscard]] bool samePolicy(const VmaEntry& one, const VmaEntry& other) noexcept;

/// Sets the policy of a mapping of this process at `at`, if it has one. Returns false if the machine lacks its nodes,
/// which is no error.
[[nodiscard]] bool setPolicy(const VmaEntry& vma, std::uint64_t at) noexcept;

}  // namespace criu::memory
