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

/// Asks a process for the memory policies of its mappings: some with all other questions, and the rest, if there are
/// that many, by themselves.
class PolicyQueries {
public:
    /// The entries, in which policies are noted, and `arena` outlive this object.
    PolicyQueries(std::vector<VmaEntry*> mappings, Arena& arena);
    ~PolicyQueries();
    PolicyQueries(const PolicyQueries&) = delete;
    PolicyQueries& operator=(const PolicyQueries&) = delete;

    /// Bytes of the process' memory that its part of the questions takes.
    [[nodiscard]] std::size_t room() const;
    void ask(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers) const;
    /// By a thread of the process, when it has nothing else to do. Throws Error, and what `stop` throws.
    void queryRest(compel::Tracee& thread, compel::Injection& injection, StopRequest& stop) const;

private:
    class Part;

    std::unique_ptr<Part> part_;
};

}  // namespace criu::engine
