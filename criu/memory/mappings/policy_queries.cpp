// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/policy_queries.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "criu/base/stop_request.hpp"
#include "criu/memory/mappings/mapping_policies.hpp"
#include "criu/pie/step_results.hpp"

namespace criu::engine {

using memory::MappingPoliciesQuery;

class PolicyQueries::Part {
public:
    Part(std::vector<VmaEntry*> all, Arena& room) : mappings(std::move(all)), arena(room) {}

    [[nodiscard]] std::span<VmaEntry* const> from(std::size_t first) const {
        return std::span(mappings).subspan(first, std::min(mappings.size() - first, MappingPoliciesQuery::kAtOnce));
    }

    std::vector<VmaEntry*> mappings;
    Arena& arena;
    std::optional<MappingPoliciesQuery> begun;
};

PolicyQueries::PolicyQueries(std::vector<VmaEntry*> mappings, Arena& arena)
    : part_(std::make_unique<Part>(std::move(mappings), arena)) {}

PolicyQueries::~PolicyQueries() = default;

std::size_t PolicyQueries::room() const {
    return part_->from(0).size() * MappingPoliciesQuery::kRoom;
}

void PolicyQueries::ask(pie::StepList& steps, pie::RemoteData& data) {
    part_->begun.emplace(part_->from(0), steps, data);
}

void PolicyQueries::store(pie::RemoteData& answers) const {
    part_->begun->store(answers, part_->arena);
}

void PolicyQueries::queryRest(compel::Tracee& thread, compel::Injection& injection, StopRequest& stop) const {
    for (std::size_t at = MappingPoliciesQuery::kAtOnce; at < part_->mappings.size();
         at += MappingPoliciesQuery::kAtOnce) {
        pie::RemoteData data(injection.data());
        pie::StepList steps;
        const MappingPoliciesQuery query(part_->from(at), steps, data);
        const RemoteProgram program = placeProgram(steps, data, &thread);
        runPrograms(injection, data, {&program, 1}, &stop);
        query.store(data, part_->arena);
    }
}

}  // namespace criu::engine
