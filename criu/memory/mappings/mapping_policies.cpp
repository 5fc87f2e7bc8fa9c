// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/mapping_policies.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/stop_request.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/mm/memory_policy.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"
#include "images/vma.hpp"

namespace criu::memory {
namespace {

using kernel::MemoryPolicy;

struct Answer {
    std::uint64_t mode;  ///< result of get_mempolicy(2); stays 0 (MPOL_DEFAULT) if the call fails
    MemoryPolicy::Nodes nodes;
};

/// Maximum number of mappings that one run of a program queries, and number of bytes of process memory for each
/// mapping.
constexpr std::size_t kAtOnce = 128;
constexpr std::size_t kRoom = 256;
static_assert(sizeof(Answer) + sizeof(pie::Step) <= kRoom);

/// Adds steps that query the policies of some mappings. Returns the position of the results in `data`.
std::uint64_t askPolicies(std::span<VmaEntry* const> mappings, pie::StepList& steps, pie::RemoteData& data) {
    if (mappings.empty())
        return 0;
    const std::uint64_t answersAt = data.reserve(mappings.size() * sizeof(Answer));
    std::uint64_t at = answersAt;
    for (const VmaEntry* const vma : mappings) {
        steps
            .call(pie::Subject::Query, vma->start, SYS_get_mempolicy, at, at + offsetof(Answer, nodes),
                  MemoryPolicy::kMostNodes, vma->start, MPOL_F_ADDR)
            .check = pie::ResultCheck::Any;
        at += sizeof(Answer);
    }
    return answersAt;
}

/// Copies the query results that begin at position `at` into the entries.
void storePolicies(std::span<VmaEntry* const> mappings, std::uint64_t at, pie::RemoteData& answers, Arena& arena) {
    for (VmaEntry* const vma : mappings) {
        const auto& answer = answers.local<Answer>(at);
        at += sizeof(Answer);
        if (answer.mode == MPOL_DEFAULT)
            continue;
        vma->has_memory_policy = 1;
        vma->memory_policy = static_cast<std::uint32_t>(answer.mode);
        std::size_t words = answer.nodes.size();
        while (words != 0 && answer.nodes[words - 1] == 0)
            --words;
        vma->n_memory_nodes = words;
        vma->memory_nodes = arena.array<std::uint64_t>(words);
        std::copy_n(answer.nodes.begin(), words, vma->memory_nodes);
    }
}

}  // namespace

std::span<VmaEntry* const> PolicyQueries::part(std::size_t first) const {
    return std::span(mappings_).subspan(first, std::min(mappings_.size() - first, kAtOnce));
}

std::size_t PolicyQueries::room() const {
    return part(0).size() * kRoom;
}

void PolicyQueries::ask(pie::StepList& steps, pie::RemoteData& data) {
    answersAt_ = askPolicies(part(0), steps, data);
}

void PolicyQueries::store(pie::RemoteData& answers) const {
    storePolicies(part(0), answersAt_, answers, arena_);
}

void PolicyQueries::queryRest(compel::Tracee& thread, compel::Injection& injection, StopRequest& stop) const {
    for (std::size_t at = kAtOnce; at < mappings_.size(); at += kAtOnce) {
        pie::RemoteData data(injection.data());
        pie::StepList steps;
        const std::uint64_t answersAt = askPolicies(part(at), steps, data);
        engine::runProgram(injection, steps, data, thread, &stop);
        storePolicies(part(at), answersAt, data, arena_);
    }
}

bool samePolicy(const VmaEntry& one, const VmaEntry& other) noexcept {
    if (one.has_memory_policy == 0 && other.has_memory_policy == 0)
        return true;
    return one.has_memory_policy == other.has_memory_policy && one.memory_policy == other.memory_policy &&
           std::equal(one.memory_nodes, one.memory_nodes + one.n_memory_nodes, other.memory_nodes,
                      other.memory_nodes + other.n_memory_nodes);
}

bool setPolicy(const VmaEntry& vma, std::uint64_t at) noexcept {
    if (vma.has_memory_policy == 0)
        return true;
    MemoryPolicy::Nodes nodes{};
    std::copy_n(vma.memory_nodes, std::min(vma.n_memory_nodes, nodes.size()), nodes.begin());
    return ::syscall(SYS_mbind, at, vma.end - vma.start, vma.memory_policy, nodes.data(), MemoryPolicy::kMostNodes,
                     0) == 0;
}

}  // namespace criu::memory
