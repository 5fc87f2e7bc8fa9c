// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <memory>
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

namespace criu::engine {

/// Queries of the memory policies of a process' mappings. The first part runs with all other queries; many mappings
/// need more runs.
class PolicyQueries {
public:
    /// Policies are stored in the entries, which must outlive this object, as must `arena`.
    PolicyQueries(std::vector<VmaEntry*> mappings, Arena& arena);
    ~PolicyQueries();
    PolicyQueries(const PolicyQueries&) = delete;
    PolicyQueries& operator=(const PolicyQueries&) = delete;

    /// Returns the bytes that the first part needs in the process' memory.
    [[nodiscard]] std::size_t room() const;
    void ask(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers) const;
    /// Runs the remaining queries in an idle thread of the process. Throws Error, and the exceptions of `stop`.
    void queryRest(compel::Tracee& thread, compel::Injection& injection, StopRequest& stop) const;

private:
    class Part;

    std::unique_ptr<Part> part_;
};

}  // namespace criu::engine
