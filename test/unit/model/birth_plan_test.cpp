// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_plan.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include "criu/base/error.hpp"

using criu::TreePid;
using criu::model::Birth;
using criu::model::BirthFacts;
using criu::model::BirthPlan;

namespace {

struct BirthOutcome {
    TreePid parent;
    TreePid sid;
    TreePid parentThread;
};

/// Simulation that executes a plan by the kernel's rules, and shows the resulting parents, groups and sessions.
class Kernel {
public:
    Kernel(const BirthPlan& plan, TreePid outerSid) : plan_(plan) {
        start(plan.root().pid, {TreePid(), outerSid, TreePid()});
        for (const TreePid adopter : plan.subreaperTurns())
            for (const Birth& birth : plan.all())
                if (const auto turn = plan.endOf(birth); turn && *turn == *plan.turnOf(adopter))
                    end(birth.pid, adopter);
        for (const Birth& birth : plan.all())
            if (birth.helper && !plan.endOf(birth))
                end(birth.pid, TreePid());
    }
    BirthOutcome operator[](TreePid pid) { return now_.at(pid); }
    [[nodiscard]] std::size_t size() const { return now_.size(); }

private:
    void start(TreePid pid, const BirthOutcome& born) {
        REQUIRE_FALSE(now_.contains(pid));
        now_[pid] = born;
        const Birth& birth = plan_.of(pid);
        for (const TreePid child : birth.beforeSession)
            clone(pid, child);
        if (birth.leadsSession)
            now_[pid].sid = pid;
        for (const TreePid child : birth.afterSession)
            clone(pid, child);
    }
    void clone(TreePid creator, TreePid child) {
        REQUIRE(plan_.of(child).creator == creator);
        const BirthOutcome who = now_.at(creator);
        const Birth& birth = plan_.of(child);
        REQUIRE(isOfThread(birth) == (birth.parentThread && birth.creator == birth.parent));
        if (birth.viaCloneParent)
            start(child, {who.parent, who.sid, who.parentThread});
        else
            start(child, {creator, who.sid, isOfThread(birth) ? birth.parentThread : TreePid()});
    }
    /// Gives the children of `pid` to the subreaper if it is an ancestor; otherwise they leave the tree.
    void end(TreePid pid, TreePid subreaper) {
        TreePid above = now_.at(pid).parent;
        while (above && above != subreaper)
            above = now_.at(above).parent;
        for (auto& [child, outcome] : now_)
            if (outcome.parent == pid) {
                outcome.parent = above ? above : TreePid(-1);
                outcome.parentThread = TreePid();
            }
    }

    const BirthPlan& plan_;
    std::map<TreePid, BirthOutcome> now_;
};

/// A random tree that grows by real operations: processes create children and siblings, begin sessions, become and
/// cease to be subreapers, and end. Each process has threads, which have children of their own, and may end as well.
class History {
public:
    explicit History(unsigned seed) : random_(seed) {
        add(kRoot, TreePid(), kRoot);
        processes_.at(kRoot).subreaper = true;
    }

    std::vector<BirthFacts> play(unsigned steps) {
        for (unsigned step = 0; step < steps; ++step)
            act();
        std::vector<BirthFacts> facts;
        list(kRoot, facts);
        return facts;
    }

private:
    static constexpr TreePid kRoot{10};
    struct Process {
        TreePid parent;
        TreePid sid;
        TreePid parentThread;
        bool subreaper = false;
        bool alive = true;
    };

    /// Returns one of the threads of a process; 0 means the leader.
    TreePid anyThread(TreePid pid) {
        constexpr pid_t kFirst = 1'000'000;
        const unsigned thread = number(3);
        return thread == 0 ? TreePid() : TreePid(kFirst + 2 * pid.value + static_cast<pid_t>(thread));
    }

    unsigned number(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }

    void add(TreePid pid, TreePid parent, TreePid sid, TreePid parentThread = {}) {
        processes_[pid] = {parent, sid, parentThread};
        last_ = pid;
    }

    TreePid any() {
        for (;;) {
            auto at = processes_.begin();
            std::advance(at, number(static_cast<unsigned>(processes_.size())));
            if (at->second.alive)
                return at->first;
        }
    }

    /// Returns one of the youngest processes, so that trees become deep.
    TreePid young() {
        std::vector<TreePid> alive;
        for (const auto& [pid, process] : processes_)
            if (process.alive)
                alive.push_back(pid);
        const std::size_t first = alive.size() * 9 / 10;
        return alive[first + number(static_cast<unsigned>(alive.size() - first))];
    }

    void act() {
        const unsigned what = number(33);
        const TreePid pid = what < 10 && number(4) != 0 ? young() : any();
        Process& who = processes_.at(pid);
        if (what < 10) {
            const bool sibling = pid != kRoot && number(2) == 0;
            add(TreePid(last_.value + 1), sibling ? who.parent : pid, who.sid,
                sibling ? who.parentThread : anyThread(pid));
        } else if (what < 17) {
            const bool leadsGroup = who.sid == pid;
            if (!leadsGroup)
                who.sid = pid;
        } else if (pid == kRoot) {
            return;
        } else if (what < 27) {
            who.subreaper = number(2) == 0;
        } else if (what > 30) {
            for (auto& [child, process] : processes_)
                if (process.parent == pid && process.parentThread)
                    process.parentThread = TreePid();
        } else {
            end(pid, what != 27);
        }
    }

    void end(TreePid pid, bool reaped) {
        TreePid above = processes_.at(pid).parent;
        while (above != kRoot && !processes_.at(above).subreaper)
            above = processes_.at(above).parent;
        for (auto& [child, process] : processes_)
            if (process.parent == pid) {
                process.parent = above;
                process.parentThread = TreePid();
            }
        processes_.at(pid).alive = false;
        if (reaped)
            processes_.erase(pid);
    }

    void list(TreePid pid, std::vector<BirthFacts>& out) {
        const Process& who = processes_.at(pid);
        out.push_back({pid, who.parent, who.sid, who.sid, who.parentThread});
        for (const auto& [child, process] : processes_)
            if (process.parent == pid)
                list(child, out);
    }

    std::mt19937 random_;
    std::map<TreePid, Process> processes_;
    TreePid last_;
};

/// pid, parent, process group and session of one process.
using Row = std::array<pid_t, 4>;

std::vector<BirthFacts> factsOf(const std::vector<Row>& rows) {
    std::vector<BirthFacts> facts;
    for (const auto& [pid, ppid, pgid, sid] : rows)
        facts.push_back({TreePid(pid), TreePid(ppid), TreePid(pgid), TreePid(sid)});
    return facts;
}

void checkPlan(const std::vector<Row>& rows, pid_t outer, std::size_t helpers) {
    const std::vector<BirthFacts> facts = factsOf(rows);
    const TreePid outerSid(outer);
    const BirthPlan plan = BirthPlan::make(facts, outerSid);
    Kernel kernel(plan, outerSid);
    CHECK(plan.helpers() == helpers);
    CHECK(kernel.size() == facts.size() + helpers);
    for (const BirthFacts& wanted : facts) {
        INFO("process " << wanted.pid.value);
        CHECK(kernel[wanted.pid].parent == wanted.ppid);
        CHECK(kernel[wanted.pid].sid == wanted.sid);
    }
}

}  // namespace

TEST_CASE("a shell with a pipeline: all processes in one session") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 11, 10}, {12, 10, 11, 10}, {13, 12, 11, 10}}, 1, 0);
}

TEST_CASE("a tree that is part of the caller's session") {
    checkPlan({{10, 0, 10, 5}, {11, 10, 10, 5}}, 5, 0);
}

TEST_CASE("a root in a foreign session is refused") {
    CHECK_THROWS_AS(BirthPlan::make(factsOf({{10, 0, 10, 6}}), TreePid(5)), criu::Error);
}

TEST_CASE("a child born before its parent's setsid keeps the old session") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 11, 11}, {12, 11, 10, 10}}, 1, 0);
}

TEST_CASE("a session leader is born where its own older children must be") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 11, 11}, {12, 11, 12, 12}, {13, 12, 11, 11}}, 1, 0);
}

TEST_CASE("an orphan whose session leader is gone gets a helper as leader") {
    checkPlan({{10, 0, 10, 10}, {12, 10, 11, 11}, {13, 10, 11, 11}}, 1, 1);
}

TEST_CASE("an adopted orphan is cloned by a sibling that leads its session") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 11, 11}, {12, 10, 11, 11}}, 1, 0);
    checkPlan({{10, 0, 10, 10}, {12, 10, 20, 20}, {20, 10, 20, 20}}, 1, 0);
}

TEST_CASE("an adopted orphan whose leader lives deeper in the tree") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 10, 10}, {12, 11, 12, 12}, {13, 10, 12, 12}}, 1, 1);
}

TEST_CASE("a process group without its leader gets a helper") {
    const std::vector<Row> rows{{10, 0, 10, 10}, {11, 10, 40, 10}, {12, 10, 40, 10}};
    checkPlan(rows, 1, 1);
    const BirthPlan plan = BirthPlan::make(factsOf(rows), TreePid(1));
    CHECK(plan.of(TreePid(40)).helper);
    CHECK(plan.of(TreePid(40)).pgid == TreePid(40));
}

TEST_CASE("a leader that comes later than a member of its session, and so do the leader's ancestors") {
    checkPlan({{10, 0, 10, 10}, {15, 10, 14, 14}, {12, 10, 12, 12}, {13, 12, 12, 12}, {14, 13, 14, 14}}, 1, 1);
}

TEST_CASE("orphans of one session that is gone were adopted at several depths") {
    checkPlan({{10, 0, 10, 10}, {15, 10, 13, 13}, {12, 10, 10, 10}, {14, 12, 13, 13}}, 1, 2);
}

TEST_CASE("a leader that was adopted from below the one that has adopted its child") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 10, 10}, {14, 11, 13, 13}, {13, 10, 13, 13}}, 1, 2);
}

TEST_CASE("members of two sessions that are gone, adopted by two processes each, of which neither is below the other") {
    checkPlan({{66, 0, 66, 66},
               {67, 66, 67, 67},
               {68, 67, 68, 68},
               {70, 68, 69, 69},
               {77, 68, 74, 74},
               {72, 67, 72, 72},
               {73, 72, 69, 69},
               {75, 72, 74, 74}},
              1, 4);
}

TEST_CASE("trees that processes have come to by themselves") {
    unsigned lost = 0;
    unsigned count = 0;
    for (unsigned seed = 0; seed < 500; ++seed) {
        INFO("seed " << seed);
        const std::vector<BirthFacts> facts = History(seed).play(20 + 3 * seed);
        const BirthPlan plan = BirthPlan::make(facts, TreePid(1));
        Kernel kernel(plan, TreePid(1));
        for (const BirthFacts& wanted : facts) {
            INFO("process " << wanted.pid.value);
            REQUIRE(kernel[wanted.pid].parent == wanted.ppid);
            REQUIRE(kernel[wanted.pid].sid == wanted.sid);
            REQUIRE(kernel[wanted.pid].parentThread == plan.of(wanted.pid).parentThread);
            lost += plan.of(wanted.pid).parentThread != wanted.parentThread ? 1 : 0;
            count += wanted.parentThread ? 1 : 0;
        }
    }
    // Few children get another parent thread: orphans of ended sessions leave no other creator.
    CHECK(20 * lost < count);
}

TEST_CASE("children of threads are born by them, and siblings of such children by these") {
    constexpr TreePid kThread{15};
    constexpr TreePid kOther{16};
    std::vector<BirthFacts> facts = factsOf({{10, 0, 10, 10},   // has the threads
                                             {11, 10, 11, 10},  // child of a thread
                                             {12, 10, 12, 12},  // begins a session
                                             {13, 10, 12, 12},  // cloned by process 12 in its session
                                             {14, 10, 14, 10}});
    facts[1].parentThread = facts[2].parentThread = facts[3].parentThread = kThread;
    facts[4].parentThread = kOther;
    const BirthPlan plan = BirthPlan::make(facts, TreePid(1));
    CHECK(isOfThread(plan.of(TreePid(11))));
    CHECK((isOfThread(plan.of(TreePid(12))) && plan.of(TreePid(12)).parentThread == kThread));
    CHECK((!isOfThread(plan.of(TreePid(13))) && plan.of(TreePid(13)).viaCloneParent));
    CHECK(plan.of(TreePid(13)).parentThread == kThread);
    CHECK(plan.of(TreePid(14)).parentThread == kOther);
    CHECK_FALSE(isOfThread(plan.root()));
}

TEST_CASE("a child that only a sibling of another thread can create becomes one of that thread") {
    std::vector<BirthFacts> facts = factsOf({{10, 0, 10, 10}, {12, 10, 12, 12}, {13, 10, 12, 12}});
    facts[1].parentThread = TreePid(15);
    facts[2].parentThread = TreePid(16);
    const BirthPlan plan = BirthPlan::make(facts, TreePid(1));
    CHECK(plan.of(TreePid(13)).parentThread == TreePid(15));
}
