// SPDX-License-Identifier: GPL-2.0-only
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/task/seccomp.hpp"
#include "images/core.hpp"
#include "images/seccomp.hpp"

using criu::Arena;
using criu::task::planSeccomp;
using criu::task::SeccompDump;
using criu::task::SeccompPlan;

namespace {

constexpr std::size_t kInstruction = 8;

/// Process whose threads have the given first filters; -1 for none, -2 for strict mode.
class Threads {
public:
    explicit Threads(const std::vector<int>& firsts) {
        task.pid = criu::TreePid(1);
        for (const int first : firsts) {
            auto* const core = static_cast<CoreEntry*>(std::calloc(1, sizeof(CoreEntry)));
            core_entry__init(core);
            core->thread_core = static_cast<ThreadCoreEntry*>(std::calloc(1, sizeof(ThreadCoreEntry)));
            thread_core_entry__init(core->thread_core);
            if (first != -1) {
                core->thread_core->has_seccomp_mode = 1;
                core->thread_core->seccomp_mode = first == -2 ? SECCOMP_MODE__strict : SECCOMP_MODE__filter;
                core->thread_core->seccomp_filter = first < 0 ? 0 : static_cast<std::uint32_t>(first);
            }
            task.threads.push_back(
                {criu::TreePid(static_cast<pid_t>(task.threads.size() + 1)), criu::Record<CoreEntry>(core)});
        }
    }

    criu::model::Task task;
};

/// Creates filters of one instruction with different content. next: index of the following filter, or -1.
SeccompEntry* filters(Arena& arena, const std::vector<std::pair<char, int>>& list, std::uint32_t flags = 0) {
    auto* const entry = arena.make<SeccompEntry>();
    entry->n_seccomp_filters = list.size();
    entry->seccomp_filters = arena.messages<SeccompFilter>(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        SeccompFilter& filter = *entry->seccomp_filters[i];
        const std::vector<std::byte> program(kInstruction, static_cast<std::byte>(list[i].first));
        filter.filter = arena.bytes(program);
        filter.has_flags = 1;
        filter.flags = flags;
        filter.has_prev = list[i].second >= 0;
        filter.prev = static_cast<std::uint32_t>(std::max(list[i].second, 0));
    }
    return entry;
}

std::string names(const std::vector<SeccompPlan::Filter>& chain) {
    std::string text;
    for (const SeccompPlan::Filter& filter : chain)
        text += static_cast<char>(filter.program[0]);
    return text;
}

compel::SeccompFilter filter(char content, std::uint64_t flags = 0) {
    return {std::vector<std::byte>(kInstruction, static_cast<std::byte>(content)), flags};
}

}  // namespace

TEST_CASE("no plans for threads without seccomp") {
    CHECK(planSeccomp(Threads({-1, -1}).task, nullptr).empty());
}

TEST_CASE("filters of one thread come in the order of the image's chain") {
    Arena arena;
    const auto plans = planSeccomp(Threads({1}).task, filters(arena, {{'b', -1}, {'a', 0}}));
    REQUIRE(plans.size() == 1);
    CHECK(names(plans[0].filters) == "ab");
    CHECK(plans[0].forAll.empty());
}

TEST_CASE("what all threads began with is installed for all") {
    Arena arena;
    const SeccompEntry* const all = filters(arena, {{'a', 1}, {'b', -1}, {'a', 3}, {'c', -1}});
    const Threads threads({0, 2});
    const auto plans = planSeccomp(threads.task, all);
    REQUIRE(plans.size() == 2);
    CHECK(names(plans[0].forAll) == "a");
    CHECK(names(plans[0].filters) == "b");
    CHECK(names(plans[1].filters) == "c");
}

TEST_CASE("filters that are marked as common are the leader's to install") {
    Arena arena;
    const SeccompEntry* const all = filters(arena, {{'a', 1}, {'b', -1}}, SECCOMP_FILTER_FLAG_TSYNC);
    const Threads threads({0, -1});
    const auto plans = planSeccomp(threads.task, all);
    REQUIRE(plans.size() == 2);
    CHECK(names(plans[0].forAll) == "ab");
    CHECK(plans[0].filters.empty());
    CHECK(plans[1].filters.empty());
}

TEST_CASE("strict mode") {
    const auto plans = planSeccomp(Threads({-1, -2}).task, nullptr);
    REQUIRE(plans.size() == 2);
    CHECK_FALSE(plans[0].strict);
    CHECK(plans[1].strict);
}

TEST_CASE("images of seccomp filters that contradict themselves") {
    Arena arena;
    const Threads second({1});
    CHECK_THROWS_WITH(planSeccomp(second.task, nullptr), Catch::Contains("isn't among the 0"));
    CHECK_THROWS_WITH(planSeccomp(second.task, filters(arena, {{'a', -1}})), Catch::Contains("isn't among the 1"));
    CHECK_THROWS_WITH(planSeccomp(second.task, filters(arena, {{'a', 1}, {'b', 0}})), Catch::Contains("have no end"));
    SeccompEntry* const odd = filters(arena, {{'a', -1}, {'b', -1}});
    odd->seccomp_filters[1]->filter.len = kInstruction - 1;
    CHECK_THROWS_WITH(planSeccomp(second.task, odd), Catch::Contains("is no program"));
}

TEST_CASE("equal chains of filters are kept once") {
    SeccompDump dump;
    const auto first = dump.add({{filter('a'), filter('b')}});
    const auto second = dump.add({{filter('a')}});
    const auto third = dump.add({{filter('a'), filter('b')}, {}});
    const auto fourth = dump.add({{filter('a', SECCOMP_FILTER_FLAG_LOG)}});
    CHECK(first[0] == third[0]);
    CHECK(first[0] != second[0]);
    CHECK(second[0] != fourth[0]);
    CHECK_FALSE(third[1]);
}

TEST_CASE("chains that are the same in all threads are the leader's") {
    SeccompDump dump;
    const auto places = dump.add({{filter('a')}, {filter('a')}, {filter('a')}});
    REQUIRE(places.size() == 3);
    CHECK(places[0]);
    CHECK_FALSE(places[1]);
    CHECK_FALSE(places[2]);
}

TEST_CASE("filters with a listener are refused") {
    SeccompDump dump;
    const sock_filter instruction{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF};
    compel::SeccompFilter listened;
    listened.program.resize(sizeof(instruction));
    std::memcpy(listened.program.data(), &instruction, sizeof(instruction));
    CHECK_THROWS_WITH(dump.add({{listened}}), Catch::Contains("another process"));
}
