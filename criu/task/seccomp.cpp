// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/seccomp.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.hpp"
#include "images/seccomp.hpp"

namespace criu::task {
namespace {

constexpr std::size_t kInstruction = sizeof(sock_filter);
static_assert(kInstruction == 8);

std::size_t hashOf(const SeccompChain& chain) {
    std::size_t hash = chain.size();
    for (const compel::SeccompFilter& filter : chain) {
        const std::string_view bytes(reinterpret_cast<const char*>(filter.program.data()), filter.program.size());
        hash = hash * 31 + std::hash<std::string_view>()(bytes) + filter.flags;
    }
    return hash;
}

/// Throws Error for a filter with SECCOMP_RET_USER_NOTIF. A process with the descriptor that seccomp(2) returned
/// decides about system calls of such a filter. criu can't dump this descriptor.
void refuseListeners(const compel::SeccompFilter& filter) {
    for (std::size_t at = 0; at + kInstruction <= filter.program.size(); at += kInstruction) {
        sock_filter instruction{};
        std::memcpy(&instruction, filter.program.data() + at, kInstruction);
        if (instruction.code == (BPF_RET | BPF_K) &&
            (instruction.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF) {
            Error error(0,
                        "a seccomp filter hands system calls to another process (SECCOMP_RET_USER_NOTIF), "
                        "which can't be dumped");
            error.addHint("start the program without a listener (listenerPath of a container's seccomp profile)");
            throw error;
        }
    }
}

SeccompPlan::Filter checked(const SeccompFilter& filter, std::uint32_t index) {
    const std::size_t size = filter.filter.len;
    if (size == 0 || size % kInstruction != 0 || size / kInstruction > BPF_MAXINSNS)
        fail("seccomp filter {} has {} bytes, which is no program", index, size);
    return {bytesOf(filter.filter), filter.has_flags != 0 ? filter.flags : 0};
}

std::vector<SeccompPlan::Filter> chainAt(const SeccompEntry* filters, std::uint32_t first) {
    std::vector<SeccompPlan::Filter> chain;
    const std::size_t count = filters == nullptr ? 0 : filters->n_seccomp_filters;
    for (std::uint32_t index = first;;) {
        if (index >= count)
            fail("seccomp filter {} isn't among the {} of the images", index, count);
        if (chain.size() == count)
            fail("the seccomp filters that begin with {} have no end", first);
        const SeccompFilter& filter = *filters->seccomp_filters[index];
        chain.push_back(checked(filter, index));
        if (filter.has_prev == 0)
            return chain;
        index = filter.prev;
    }
}

SeccompPlan planThread(const CoreEntry& core, const SeccompEntry* filters) {
    SeccompPlan plan;
    const ThreadCoreEntry& thread = *core.thread_core;
    auto mode = SECCOMP_MODE__disabled;
    std::uint32_t first = 0;
    if (thread.has_seccomp_mode != 0) {
        mode = thread.seccomp_mode;
        first = thread.seccomp_filter;
    } else if (core.tc != nullptr && core.tc->has_old_seccomp_mode != 0) {
        mode = core.tc->old_seccomp_mode;
        first = core.tc->old_seccomp_filter;
    }
    plan.strict = mode == SECCOMP_MODE__strict;
    if (mode == SECCOMP_MODE__filter)
        plan.filters = chainAt(filters, first);
    return plan;
}

bool isCommon(const SeccompPlan::Filter& filter) {
    return (filter.flags & SECCOMP_FILTER_FLAG_TSYNC) != 0;
}

bool sameProgram(const SeccompPlan::Filter& one, const SeccompPlan::Filter& other) {
    return one.flags == other.flags &&
           std::equal(one.program.begin(), one.program.end(), other.program.begin(), other.program.end());
}

/// Returns the number of first filters that are equal in all threads. These filters were installed for all threads, or
/// before the process had more than one thread.
std::size_t commonLength(const std::vector<SeccompPlan>& plans) {
    const auto& leader = plans.front().filters;
    std::size_t length = leader.size();
    for (const SeccompPlan& plan : plans) {
        const auto differ =
            std::mismatch(leader.begin(), leader.end(), plan.filters.begin(), plan.filters.end(), sameProgram);
        length = std::min(length, static_cast<std::size_t>(differ.first - leader.begin()));
    }
    return length;
}

void install(const SeccompPlan::Filter& filter, std::uint32_t moreFlags, pie::StepList& steps, pie::RemoteData& data) {
    struct Program {
        std::uint16_t count;
        std::uint64_t at;
    } program{};
    static_assert(sizeof(Program) == sizeof(sock_fprog) && offsetof(Program, at) == offsetof(sock_fprog, filter));
    program.count = static_cast<std::uint16_t>(filter.program.size() / kInstruction);
    program.at = data.put(filter.program);
    const std::uint32_t flags = (filter.flags & ~std::uint32_t{SECCOMP_FILTER_FLAG_TSYNC}) | moreFlags;
    // With TSYNC, a positive result is the tid of a thread that the kernel couldn't synchronize. So the result must be
    // 0.
    steps.call(pie::Subject::Seccomp, 0, SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, data.put(program)).check =
        pie::ResultCheck::Equals;
}

}  // namespace

std::uint32_t SeccompDump::place(const SeccompChain& chain) {
    const std::size_t hash = hashOf(chain);
    const auto [begin, end] = byHash_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
        std::optional<std::uint32_t> at = known->second;
        const bool same = std::all_of(chain.begin(), chain.end(), [&](const compel::SeccompFilter& filter) {
            if (!at || filters_[*at].filter != filter)
                return false;
            at = filters_[*at].next;
            return true;
        });
        if (same && !at)
            return known->second;
    }
    const auto first = static_cast<std::uint32_t>(filters_.size());
    for (const compel::SeccompFilter& filter : chain)
        filters_.push_back({filter, static_cast<std::uint32_t>(filters_.size() + 1)});
    filters_.back().next.reset();
    byHash_.emplace(hash, first);
    return first;
}

std::vector<SeccompDump::Place> SeccompDump::add(std::vector<SeccompChain> threads) {
    std::vector<Place> places(threads.size());
    for (const compel::SeccompFilter& filter : threads.front())
        refuseListeners(filter);
    SeccompChain& leader = threads.front();
    const bool common =
        threads.size() > 1 && !leader.empty() &&
        std::all_of(threads.begin() + 1, threads.end(), [&](const SeccompChain& chain) { return chain == leader; });
    if (common) {
        for (compel::SeccompFilter& filter : leader)
            filter.flags |= SECCOMP_FILTER_FLAG_TSYNC;
        places.front() = place(leader);
        return places;
    }
    for (std::size_t i = 0; i < threads.size(); ++i) {
        for (const compel::SeccompFilter& filter : threads[i])
            refuseListeners(filter);
        if (!threads[i].empty())
            places[i] = place(threads[i]);
    }
    return places;
}

void SeccompDump::write(const ImageDir& images) const {
    Arena arena;
    auto& entry = *arena.make<SeccompEntry>();
    entry.n_seccomp_filters = filters_.size();
    entry.seccomp_filters = arena.messages<SeccompFilter>(filters_.size());
    for (std::size_t i = 0; i < filters_.size(); ++i) {
        SeccompFilter& out = *entry.seccomp_filters[i];
        const Stored& stored = filters_[i];
        out.filter = arena.bytes(stored.filter.program);
        out.has_flags = 1;
        out.flags = static_cast<std::uint32_t>(stored.filter.flags);
        out.has_prev = stored.next.has_value();
        out.prev = stored.next.value_or(0);
    }
    ImageWriter image = images.create(ImageKind::Seccomp);
    image.write(entry);
    image.finish();
}

void storeSeccomp(std::optional<kernel::SeccompMode> mode, SeccompDump::Place place, ThreadCoreEntry& core) {
    if (place) {
        core.has_seccomp_mode = core.has_seccomp_filter = 1;
        core.seccomp_mode = SECCOMP_MODE__filter;
        core.seccomp_filter = *place;
    } else if (mode == kernel::SeccompMode::Strict) {
        core.has_seccomp_mode = 1;
        core.seccomp_mode = SECCOMP_MODE__strict;
    }
}

std::vector<SeccompPlan> planSeccomp(const model::Task& task, const SeccompEntry* filters) {
    std::vector<SeccompPlan> plans;
    bool any = false;
    for (const model::Thread& thread : task.threads) {
        const ErrorContext context([&] { return fmt::format("thread {}", thread.tid); });
        plans.push_back(planThread(**thread.core, filters));
        any = any || plans.back().strict || !plans.back().filters.empty();
    }
    if (!any)
        return {};
    SeccompPlan& leader = plans.front();
    const std::size_t common = plans.size() == 1 ? 0 : commonLength(plans);
    std::size_t marked = 0;
    while (marked < leader.filters.size() && isCommon(leader.filters[marked]))
        ++marked;
    const auto split = [](SeccompPlan& plan, std::size_t at) {
        const auto end = plan.filters.begin() + static_cast<std::ptrdiff_t>(std::min(at, plan.filters.size()));
        plan.filters.erase(plan.filters.begin(), end);
    };
    // Filters for all threads are marked in the images (then other threads have no filters), or are equal in all
    // threads.
    const std::size_t forAll = std::max(common, marked);
    leader.forAll.assign(leader.filters.begin(), leader.filters.begin() + static_cast<std::ptrdiff_t>(forAll));
    split(leader, forAll);
    for (std::size_t i = 1; i < plans.size() && common != 0; ++i)
        split(plans[i], common);
    return plans;
}

void requireSeccomp(const std::vector<SeccompPlan>* plans, std::size_t index, const kernel::TaskStatus& status) {
    std::size_t filters = 0;
    auto mode = kernel::SeccompMode::Disabled;
    if (plans != nullptr) {
        const SeccompPlan& plan = (*plans)[index];
        filters = plans->front().forAll.size() + plan.filters.size();
        if (plan.strict)
            mode = kernel::SeccompMode::Strict;
        else if (filters != 0)
            mode = kernel::SeccompMode::Filter;
    }
    // Kernels without seccomp show neither line. Kernels before 5.9 don't show the number of filters.
    if (status.seccomp.value_or(mode) != mode)
        fail("its seccomp mode would be {}, not {} as in the image", static_cast<int>(*status.seccomp),
             static_cast<int>(mode));
    if (status.seccompFilters.value_or(filters) != filters)
        fail("it would have {} seccomp filters, not {} as in the image", *status.seccompFilters, filters);
}

void restoreCommonSeccomp(const SeccompPlan& plan, pie::StepList& steps, pie::RemoteData& data) {
    for (const SeccompPlan::Filter& filter : plan.forAll)
        install(filter, SECCOMP_FILTER_FLAG_TSYNC, steps, data);
}

void restoreSeccomp(const SeccompPlan& plan, pie::StepList& steps, pie::RemoteData& data) {
    for (const SeccompPlan::Filter& filter : plan.filters)
        install(filter, 0, steps, data);
    if (plan.strict)
        steps.call(pie::Subject::Seccomp, 0, SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
}

}  // namespace criu::task
