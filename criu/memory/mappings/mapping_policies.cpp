// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/mapping_policies.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "criu/kernel/mm/memory_policy.hpp"
#include "images/vma.hpp"

namespace criu::memory {
namespace {

using kernel::MemoryPolicy;

struct Answer {
    std::uint64_t mode;  ///< stays 0, MPOL_DEFAULT, if the call fails
    MemoryPolicy::Nodes nodes;
};
static_assert(sizeof(Answer) + sizeof(pie::Step) <= MappingPoliciesQuery::kRoom);

}  // namespace

MappingPoliciesQuery::MappingPoliciesQuery(std::span<VmaEntry* const> mappings, pie::StepList& steps,
                                           pie::RemoteData& data)
    : mappings_(mappings) {
    if (mappings_.empty())
        return;
    answersAt_ = data.reserve(mappings_.size() * sizeof(Answer));
    std::uint64_t at = answersAt_;
    for (const VmaEntry* const vma : mappings_) {
        steps
            .call(pie::Subject::Query, vma->start, SYS_get_mempolicy, at, at + offsetof(Answer, nodes),
                  MemoryPolicy::kMostNodes, vma->start, MPOL_F_ADDR)
            .check = pie::ResultCheck::Any;
        at += sizeof(Answer);
    }
}

void MappingPoliciesQuery::store(pie::RemoteData& answers, Arena& arena) const {
    std::uint64_t at = answersAt_;
    for (VmaEntry* const vma : mappings_) {
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
