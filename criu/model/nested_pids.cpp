// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/nested_pids.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::model {
namespace {

bool contains(const std::vector<TreePid>& all, TreePid one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// Returns true if a process is in its group from birth: its creator led the group before, or was also born into it. A
/// process that doesn't lead a group leaves the group of its birth only when all processes are born.
bool isBornIntoGroup(const BirthPlan& plan, const Birth& born) {
    for (const Birth* at = &born; at->creator; at = &plan.of(at->creator)) {
        const Birth& creator = plan.of(at->creator);
        if (creator.pid == born.pgid)
            return !creator.leadsSession || contains(creator.afterSession, at->pid);
        if (creator.leadsSession || creator.pgid != born.pgid)
            return false;
    }
    return true;  // the root inherits the group from criu
}

}  // namespace

const NestedPids& ProcessTree::nested() const noexcept {
    return nestedPids != nullptr ? *nestedPids : NestedPids::none();
}

const NestedPids& NestedPids::none() noexcept {
    static const NestedPids empty;
    return empty;
}

NestedPids::Space* NestedPids::find(std::uint32_t id) const noexcept {
    const auto found = std::find_if(spaces_.begin(), spaces_.end(), [id](const auto& each) { return each->id == id; });
    return found == spaces_.end() ? nullptr : found->get();
}

NestedPids::Space& NestedPids::add(std::uint32_t id, const Space* parent) {
    spaces_.push_back(std::make_unique<Space>(Space{id, parent, parent == nullptr ? 1 : parent->depth + 1, {}}));
    return *spaces_.back();
}

void NestedPids::note(Space& space, TreePid who, pid_t number) {
    const auto [known, fresh] = space.numbers.emplace(who, number);
    if (!fresh && known->second != number)
        fail("{} is called {} and {} in one pid namespace", who, known->second, number);
    if (const Space*& place = places_[who]; place == nullptr || place->depth < space.depth)
        place = &space;
}

const NestedPids::Space* NestedPids::of(TreePid who) const noexcept {
    const auto found = places_.find(who);
    return found == places_.end() ? nullptr : found->second;
}

pid_t NestedPids::numberIn(const Space* space, TreePid who) noexcept {
    if (space == nullptr)
        return who.value;
    const auto found = space->numbers.find(who);
    return found == space->numbers.end() ? 0 : found->second;
}

std::vector<pid_t> NestedPids::numbersOf(TreePid who) const {
    std::vector<pid_t> numbers;
    for (const Space* space = of(who); space != nullptr; space = space->parent)
        numbers.push_back(numberIn(space, who));
    numbers.push_back(who.value);
    return numbers;
}

bool NestedPids::isFirst(TreePid who) const noexcept {
    const Space* const space = of(who);
    return space != nullptr && numberIn(space, who) == 1;
}

TreePid NestedPids::firstOf(const Space& space) noexcept {
    for (const auto& [who, number] : space.numbers)
        if (number == 1)
            return who;
    return {};
}

const NestedPids::Space* NestedPids::placeOf(const BirthPlan& plan, TreePid process) const {
    // A helper without a chosen pid isn't in the images; it is in the pid namespace of its creator.
    while (process < TreePid())
        process = plan.of(process).creator;
    return of(process);
}

bool NestedPids::isPutInside(const BirthPlan& plan, const Birth& birth) const {
    const Space* const place = placeOf(plan, birth.pid);
    const Space* const ofCreator = birth.creator ? placeOf(plan, birth.creator) : nullptr;
    if (!birth.creator || place == ofCreator || isFirst(birth.pid) || birth.helper || birth.reparented ||
        birth.viaCloneParent)
        return false;
    // The creator must clone this process after its setsid(2). It then waits for the first process of the namespace,
    // and must have created all its other children before.
    const Birth& creator = plan.of(birth.creator);
    if (!contains(creator.afterSession, birth.pid))
        return false;
    const Space* above = place;
    while (above != nullptr && above != ofCreator)
        above = above->parent;
    return above == ofCreator;
}

void NestedPids::require(const BirthPlan& plan) const {
    if (empty())
        return;
    // Requires a first process in each namespace, because a creator that puts children into a namespace waits for this
    // process.
    for (const auto& space : spaces_)
        if (const TreePid first = firstOf(*space); !first || of(first) != space.get() || plan.of(first).helper)
            fail("pid namespace {} has no first process", space->id);
    for (const Birth& birth : plan.all()) {
        if (!birth.creator)
            continue;
        const Space* const place = placeOf(plan, birth.pid);
        const Space* const ofCreator = placeOf(plan, birth.creator);
        const bool begins = place != ofCreator && isFirst(birth.pid) && place->parent == ofCreator && !birth.helper &&
                            !birth.reparented && !birth.viaCloneParent;
        if (isFirst(birth.pid) ? !begins : place != ofCreator && !isPutInside(plan, birth))
            fail("process {} would have to be created from another pid namespace than it is in", birth.pid);
        // The first process of a namespace can't have siblings (copy_process() in kernel/fork.c).
        if (birth.viaCloneParent && isFirst(birth.creator))
            fail("process {} would have to be created as a sibling of the first process of a pid namespace", birth.pid);
        // An orphan stays in the pid namespace of its ended parent (find_new_reaper() in kernel/exit.c).
        if (birth.reparented && placeOf(plan, birth.parent) != ofCreator)
            fail("process {} would have to be adopted in another pid namespace", birth.pid);
        if (birth.pgid && !birth.helper && numberIn(place, birth.pgid) == 0 && !isBornIntoGroup(plan, birth))
            fail("process {} is in process group {}, which its pid namespace doesn't see, and its parent wasn't",
                 birth.pid, birth.pgid);
    }
}

}  // namespace criu::model
