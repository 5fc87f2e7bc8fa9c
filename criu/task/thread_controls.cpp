// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/thread_controls.hpp"

#include <linux/mempolicy.h>
#include <linux/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <span>

#include "criu/kernel/mm/memory_policy.hpp"
#include "images/core.hpp"

namespace criu::task {
namespace {

using kernel::MemoryPolicy;

/// Number of speculation features. They have numbers from 0 on.
constexpr std::uint32_t kSpeculations = PR_SPEC_L1D_FLUSH + 1;

/// Bits that a thread can set. Other bits show if the thread may set them.
constexpr std::uint32_t kSpeculationChoices =
    PR_SPEC_ENABLE | PR_SPEC_DISABLE | PR_SPEC_FORCE_DISABLE | PR_SPEC_DISABLE_NOEXEC;

}  // namespace

ThreadControlsQuery::ThreadControlsQuery(pie::StepList& steps, pie::RemoteData& data)
    : timestampsAt_(data.reserve(sizeof(std::uint64_t))),
      machineCheckAt_(data.reserve(sizeof(std::uint64_t))),
      speculationAt_(data.reserve(kSpeculations * sizeof(std::uint64_t))),
      memoryPolicyAt_(data.reserve(sizeof(std::uint64_t))),
      memoryNodesAt_(data.reserve(sizeof(MemoryPolicy::Nodes))),
      personalityAt_(data.reserve(sizeof(std::uint64_t))) {
    // Accepts any result, because processors and kernels without a feature return an error.
    const auto ask = [&](std::uint64_t at, int what, std::uint64_t which) {
        steps.call(pie::Subject::Query, which, SYS_prctl, what, which, 0, 0, 0).check = pie::ResultCheck::Any;
        steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, at).check = pie::ResultCheck::Any;
    };
    steps.call(pie::Subject::Query, 0, SYS_prctl, PR_GET_TSC, timestampsAt_, 0, 0, 0).check = pie::ResultCheck::Any;
    ask(machineCheckAt_, PR_MCE_KILL_GET, 0);
    for (std::uint32_t kind = 0; kind < kSpeculations; ++kind)
        ask(speculationAt_ + kind * sizeof(std::uint64_t), PR_GET_SPECULATION_CTRL, kind);
    steps
        .call(pie::Subject::Query, 0, SYS_get_mempolicy, memoryPolicyAt_, memoryNodesAt_, MemoryPolicy::kMostNodes, 0,
              0)
        .check = pie::ResultCheck::Any;
    constexpr std::uint32_t kNoChange = 0xffffffff;  // lets personality(2) only return the present value
    steps.call(pie::Subject::Query, 0, SYS_personality, kNoChange).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, personalityAt_).check = pie::ResultCheck::Any;
}

std::uint32_t ThreadControlsQuery::personality(pie::RemoteData& answers) const {
    return answers.local<std::uint32_t>(personalityAt_);
}

void ThreadControlsQuery::store(pie::RemoteData& answers, ThreadCoreEntry& core, Arena& arena) const {
    if (answers.local<std::uint32_t>(timestampsAt_) == PR_TSC_SIGSEGV) {
        core.has_timestamp_counter = 1;
        core.timestamp_counter = PR_TSC_SIGSEGV;
    }
    const auto machineCheck = static_cast<std::int64_t>(answers.local<std::uint64_t>(machineCheckAt_));
    if (machineCheck >= 0 && machineCheck != PR_MCE_KILL_DEFAULT) {
        core.has_machine_check = 1;
        core.machine_check = static_cast<std::uint32_t>(machineCheck);
    }
    if (const auto policy = answers.local<std::uint32_t>(memoryPolicyAt_); policy != MPOL_DEFAULT) {
        const auto& nodes = answers.local<MemoryPolicy::Nodes>(memoryNodesAt_);
        core.has_memory_policy = 1;
        core.memory_policy = policy;
        std::size_t words = nodes.size();
        while (words != 0 && nodes[words - 1] == 0)
            --words;
        core.n_memory_nodes = words;
        core.memory_nodes = arena.array<std::uint64_t>(words);
        std::copy_n(nodes.begin(), words, core.memory_nodes);
    }
    std::array<std::uint32_t, kSpeculations> chosen{};
    bool any = false;
    for (std::uint32_t kind = 0; kind < kSpeculations; ++kind) {
        const auto state = answers.local<std::int64_t>(speculationAt_ + kind * sizeof(std::uint64_t));
        if (state < 0 || (static_cast<std::uint64_t>(state) & PR_SPEC_PRCTL) == 0)
            continue;
        chosen[kind] = static_cast<std::uint32_t>(state) & kSpeculationChoices;
        any = true;
    }
    if (any) {
        core.n_speculation = chosen.size();
        core.speculation = arena.copy(std::span<const std::uint32_t>(chosen));
    }
}

void restoreThreadControls(const ThreadCoreEntry& core, pie::StepList& steps, pie::RemoteData& data) {
    if (core.has_timestamp_counter != 0)
        steps.call(pie::Subject::Other, core.timestamp_counter, SYS_prctl, PR_SET_TSC, core.timestamp_counter, 0, 0, 0);
    if (core.has_machine_check != 0)
        steps.call(pie::Subject::Other, core.machine_check, SYS_prctl, PR_MCE_KILL, PR_MCE_KILL_SET, core.machine_check,
                   0, 0);
    // Accepts any result, because another processor may lack the control or not need it.
    for (std::uint32_t kind = 0; kind < core.n_speculation; ++kind)
        if (core.speculation[kind] != 0)
            steps
                .call(pie::Subject::Other, kind, SYS_prctl, PR_SET_SPECULATION_CTRL, kind, core.speculation[kind], 0, 0)
                .check = pie::ResultCheck::Any;
    if (core.has_memory_policy == 0)
        return;
    MemoryPolicy::Nodes nodes{};
    std::copy_n(core.memory_nodes, std::min(core.n_memory_nodes, nodes.size()), nodes.begin());
    // Accepts any result, because this machine may lack the NUMA nodes.
    steps
        .call(pie::Subject::Other, core.memory_policy, SYS_set_mempolicy, core.memory_policy, data.put(nodes),
              MemoryPolicy::kMostNodes)
        .check = pie::ResultCheck::Any;
}

}  // namespace criu::task
