// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::model {
namespace {

/// Makes the plan. Processes are found by their pid, sessions and groups by that of their leader.
///
/// What the kernel's rules leave possible: a process gets into a session only by being created by somebody in it, and
/// to another parent only upwards, to an ancestor. So a process whose parent never was in its session was adopted: it
/// descends from the session's leader, and that once was below that parent. If it isn't there now it, or an ancestor
/// that it has come with, was adopted by somebody further up since. The planner first finds below whom everybody must
/// be born, from which follows who is adopted.
class BirthPlanner {
public:
    BirthPlanner(std::span<const BirthFacts> processes, TreePid outerSid) : outerSid_(outerSid) {
        for (const BirthFacts& facts : processes)
            facts_.emplace(facts.pid, facts);
        for (const BirthFacts& facts : processes)
            children_[facts.ppid].push_back(facts.pid);
        for (const BirthFacts& facts : processes)
            below_[facts.pid] = facts.ppid;
        for (const BirthFacts& facts : processes)
            require(facts.pid);
    }

    std::vector<Birth> run(std::span<const BirthFacts> processes) {
        for (const BirthFacts& facts : processes)
            ensure(facts.pid);
        for (const BirthFacts& facts : processes)
            ensureGroupLeader(facts);
        return std::move(births_);
    }

private:
    [[nodiscard]] bool isPlanned(TreePid pid) const { return index_.contains(pid); }
    Birth& birth(TreePid pid) { return births_[index_.at(pid)]; }

    Birth& add(Birth next, TreePid bornIn) {
        bornIn_[next.pid] = bornIn;
        index_[next.pid] = births_.size();
        births_.push_back(std::move(next));
        return births_.back();
    }

    /// Session a planned process is in once it has done all its own calls.
    TreePid finalSession(TreePid pid) { return birth(pid).leadsSession ? pid : bornIn_.at(pid); }

    bool isInSession(TreePid pid, TreePid sid) { return finalSession(pid) == sid || bornIn_.at(pid) == sid; }

    /// Makes `creator` clone `child`, whose session must be `sid`, at the right side of the creator's setsid.
    /// False if the creator is never in that session.
    bool assign(TreePid creator, TreePid child, TreePid sid) {
        Birth& who = birth(creator);
        if (finalSession(creator) == sid)
            who.afterSession.push_back(child);
        else if (bornIn_.at(creator) == sid)
            who.beforeSession.push_back(child);
        else
            return false;
        return true;
    }

    [[nodiscard]] TreePid parentOf(TreePid pid) const {
        const auto found = facts_.find(pid);
        return found == facts_.end() ? TreePid() : found->second.ppid;
    }

    [[nodiscard]] bool descends(TreePid pid, TreePid ancestor) const {
        for (TreePid at = parentOf(pid); at; at = parentOf(at))
            if (at == ancestor)
                return true;
        return false;
    }

    [[nodiscard]] bool leads(TreePid pid) const {
        const auto found = facts_.find(pid);
        return found != facts_.end() && found->second.sid == pid;
    }

    /// The session that a leader must be born in, because it had children there before it began its own; 0: any.
    TreePid birthSession(TreePid leader) {
        if (const auto known = birthSessions_.find(leader); known != birthSessions_.end())
            return known->second;
        for (const TreePid child : children_[leader]) {
            const TreePid sid = wantedSession(child);
            if (sid && sid != leader && !isStartedByDescendant(sid, leader))
                return birthSessions_[leader] = sid;
        }
        return birthSessions_[leader] = TreePid();
    }

    /// The session that a process must be born in; 0: any.
    TreePid wantedSession(TreePid pid) { return leads(pid) ? birthSession(pid) : facts_.at(pid).sid; }

    [[nodiscard]] bool isUnder(TreePid pid, TreePid ancestor) const {
        for (TreePid at = pid; at; at = birthParent(at))
            if (at == ancestor)
                return true;
        return false;
    }

    [[nodiscard]] TreePid birthParent(TreePid pid) const {
        const auto found = below_.find(pid);
        return found == below_.end() ? TreePid() : found->second;
    }

    /// Of `pid` and its ancestors the one whose parent is the nearest common ancestor of `pid` and `other`.
    [[nodiscard]] TreePid branchOf(TreePid pid, TreePid other) const {
        while (birthParent(pid) && !isUnder(other, birthParent(pid)))
            pid = birthParent(pid);
        return pid;
    }

    bool entersSession(TreePid pid, TreePid sid) { return facts_.at(pid).sid == sid || wantedSession(pid) == sid; }

    /// Makes sure that the place below which a process is born has a member of the session that it must be born in:
    /// only that member can create it.
    void require(TreePid pid) {
        const TreePid sid = wantedSession(pid);
        const TreePid place = birthParent(pid);
        if (!sid || sid == outerSid_ || !place || entersSession(place, sid))
            return;
        if (!below_.contains(sid)) {
            below_[sid] = place;  // its leader is gone
            return;
        }
        if (isUnder(sid, place))
            return;
        if (!facts_.contains(sid) && isUnder(place, birthParent(sid))) {
            below_[sid] = place;
            return;
        }
        // The leader, with the ancestors that it was adopted together with, was once below that place. If the leader is
        // gone it is the reverse: the process was below where the leader's helper will be.
        const TreePid leaders = branchOf(sid, place);
        const TreePid others = branchOf(place, sid);
        if (!facts_.contains(sid) && leaders != sid && others > leaders && !isUnder(sid, others))
            return moveBelow(others, birthParent(sid), sid, place);
        below_[leaders] = place;
        if (facts_.contains(leaders))
            require(leaders);
    }

    void moveBelow(TreePid branch, TreePid upper, TreePid sid, TreePid place) {
        below_[branch] = upper;
        below_[sid] = place;
        require(branch);
    }

    /// Whether a session of which `leader` has a child was begun by a descendant of `leader`, so that the child was
    /// adopted. If not, the child is older than the leader's own session.
    bool isStartedByDescendant(TreePid sid, TreePid leader) {
        if (sid == outerSid_)
            return false;
        if (leads(sid) && descends(sid, leader))
            return true;
        if (!leads(sid)) {
            const TreePid parent = parentOf(leader);
            if (parent && facts_.at(parent).sid == sid)
                return false;
        }
        return sid > leader;  // pids are given in ascending order
    }

    /// Plans a process of the image, after what it depends on.
    void ensure(TreePid pid) {
        if (isPlanned(pid))
            return;
        const BirthFacts& facts = facts_.at(pid);
        if (!begun_.insert(pid).second)
            fail("process {} is in session {}, whose leader can't be created before it", pid, facts.sid);
        Birth next;
        next.pid = pid;
        next.parent = facts.ppid;
        next.creator = facts.ppid;
        next.pgid = facts.pgid;
        next.leadsSession = facts.sid == pid;
        if (!facts.ppid)
            return placeRoot(std::move(next), facts);
        ensure(facts.ppid);
        const TreePid below = birthParent(pid);
        ensure(below);
        if (isPlanned(pid))
            return;
        const TreePid sid = wantedSession(pid);
        if (below != facts.ppid)
            return placeBelow(std::move(next), below, sid);
        if (!sid) {
            const TreePid bornIn = finalSession(facts.ppid);
            birth(facts.ppid).afterSession.push_back(pid);
            add(std::move(next), bornIn);
            return;
        }
        if (!isInSession(facts.ppid, sid))
            ensureSession(sid);
        place(std::move(next), sid);
    }

    void placeRoot(Birth next, const BirthFacts& facts) {
        if (!next.leadsSession && facts.sid != outerSid_)
            fail("process {} is in session {}, which is not in the image (was the dump made with --shell-job?)",
                 facts.pid, facts.sid);
        add(std::move(next), outerSid_);
    }

    /// The leader of a session, be it alive or gone.
    void ensureSession(TreePid sid) {
        if (isPlanned(sid) || sid == outerSid_)
            return;
        if (facts_.contains(sid)) {
            if (!leads(sid))
                fail("session {} has members, but process {} is in session {}", sid, sid, facts_.at(sid).sid);
            return ensure(sid);
        }
        const TreePid beginning = birthParent(sid);
        if (!beginning)
            fail("session {} has no place in the tree", sid);
        ensure(beginning);
        if (!isPlanned(sid))
            addLeader(sid, beginning);
    }

    /// A process that is born into a session.
    void place(Birth next, TreePid sid) {
        const TreePid pid = next.pid;
        if (assign(next.parent, pid, sid)) {
            add(std::move(next), sid);
            return;
        }
        // A child of the same parent that is in the session clones a sibling directly.
        for (std::size_t i = 0; i < births_.size(); ++i) {
            if (births_[i].parent != next.parent || births_[i].reparented)
                continue;
            const TreePid sibling = births_[i].pid;
            if (sibling > TreePid() && assign(sibling, pid, sid)) {
                next.creator = sibling;
                next.viaCloneParent = true;
                add(std::move(next), sid);
                return;
            }
        }
        adopt(std::move(next), next.parent, sid);
    }

    /// Plans a process whose parent in the end is an ancestor of the one that it is born below: it will be adopted.
    void placeBelow(Birth next, TreePid below, TreePid sid) {
        if (sid && !isInSession(below, sid))
            ensureSession(sid);
        adopt(std::move(next), below, sid ? sid : finalSession(below));
    }

    /// A member of the session that is `below` a process, or that itself, clones a helper; the helper clones `next`
    /// and ends.
    void adopt(Birth next, TreePid below, TreePid sid) {
        for (std::size_t i = 0; i < births_.size(); ++i) {
            const TreePid member = births_[i].pid;
            if (member < TreePid() || !isInSession(member, sid) || !isBelow(member, below))
                continue;
            const TreePid helper = addReparentHelper(member, sid);
            next.creator = helper;
            next.reparented = true;
            birth(helper).afterSession.push_back(next.pid);
            add(std::move(next), sid);
            return;
        }
        fail("process {} is in session {}, of which no process of the tree is a member that could create it", next.pid,
             sid);
    }

    /// Whether a process is `ancestor`, or was created by it or one of its descendants, whoever is its parent in the
    /// end.
    bool isBelow(TreePid pid, TreePid ancestor) {
        for (TreePid at = pid; at; at = creatorSession(at))
            if (at == ancestor)
                return true;
        return false;
    }

    /// The parent that a process has when it is created, before anybody adopts it.
    TreePid creatorSession(TreePid pid) {
        const Birth& who = birth(pid);
        return who.reparented ? who.creator : who.parent;
    }

    /// A helper with a free pid: it only exists to hand its child over.
    TreePid addReparentHelper(TreePid member, TreePid sid) {
        Birth helper;
        lastSpare_ = TreePid(lastSpare_.value - 1);
        helper.pid = lastSpare_;
        helper.parent = helper.creator = member;
        helper.helper = true;
        add(helper, sid);
        assign(member, helper.pid, sid);
        return helper.pid;
    }

    /// A helper with the pid of a session's leader that is gone.
    void addLeader(TreePid sid, TreePid parent) {
        Birth helper;
        helper.pid = helper.pgid = sid;
        helper.parent = helper.creator = parent;
        helper.helper = true;
        helper.leadsSession = true;
        birth(parent).afterSession.push_back(sid);
        add(helper, finalSession(parent));
    }

    /// Groups whose leader is gone get a helper with the leader's pid, in the session of the members.
    void ensureGroupLeader(const BirthFacts& facts) {
        const TreePid pgid = facts.pgid;
        if (!pgid || isPlanned(pgid))
            return;
        const Birth& root = births_.front();
        if (!root.leadsSession && facts.sid == outerSid_ && facts_.at(root.pid).pgid == pgid)
            return;  // the caller's own group, adopted with its session
        for (TreePid pid = facts.pid; pid; pid = parentOf(pid)) {
            if (finalSession(pid) != facts.sid)
                continue;
            Birth helper;
            helper.pid = helper.pgid = pgid;
            helper.parent = helper.creator = pid;
            helper.helper = true;
            birth(pid).afterSession.push_back(pgid);
            add(helper, facts.sid);
            return;
        }
        fail("process {} is in group {}, whose leader can't be recreated", facts.pid, pgid);
    }

    TreePid outerSid_;
    TreePid lastSpare_;
    std::map<TreePid, BirthFacts> facts_;
    std::map<TreePid, std::vector<TreePid>> children_;
    std::map<TreePid, TreePid> birthSessions_;  ///< those worked out so far
    std::map<TreePid, TreePid> below_;          ///< the member of the tree that a process is born below
    std::map<TreePid, std::size_t> index_;
    std::map<TreePid, TreePid> bornIn_;
    std::set<TreePid> begun_;
    std::vector<Birth> births_;
};

}  // namespace

BirthPlan BirthPlan::make(std::span<const BirthFacts> processes, TreePid outerSid) {
    BirthPlan plan;
    plan.births_ = BirthPlanner(processes, outerSid).run(processes);
    for (std::size_t i = 0; i < plan.births_.size(); ++i)
        plan.index_.emplace(plan.births_[i].pid, i);

    const auto depth = [&plan](TreePid pid) {
        unsigned count = 0;
        for (const Birth* at = &plan.of(pid); at->creator; ++count)
            at = &plan.of(at->reparented ? at->creator : at->parent);
        return count;
    };
    for (const Birth& birth : plan.births_)
        if (birth.reparented && !plan.turnOf(birth.parent))
            plan.subreaperTurns_.push_back(birth.parent);
    std::stable_sort(plan.subreaperTurns_.begin(), plan.subreaperTurns_.end(),
                     [&](TreePid one, TreePid other) { return depth(one) > depth(other); });
    return plan;
}

const Birth& BirthPlan::of(TreePid pid) const {
    const auto found = index_.find(pid);
    if (found == index_.end())
        fail("process {} is not in the plan", pid);
    return births_[found->second];
}

std::optional<std::size_t> BirthPlan::turnOf(TreePid adopter) const {
    const auto at = std::find(subreaperTurns_.begin(), subreaperTurns_.end(), adopter);
    if (at == subreaperTurns_.end())
        return std::nullopt;
    return static_cast<std::size_t>(at - subreaperTurns_.begin());
}

std::optional<std::size_t> BirthPlan::endOf(const Birth& helper) const {
    for (const TreePid child : helper.afterSession)
        if (const Birth& born = of(child); helper.helper && born.reparented)
            return turnOf(born.parent);
    return std::nullopt;
}

std::size_t BirthPlan::helpers() const {
    return static_cast<std::size_t>(
        std::count_if(births_.begin(), births_.end(), [](const Birth& birth) { return birth.helper; }));
}

}  // namespace criu::model
