// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::model {
namespace {

/// Planner of births. It identifies processes by their pid, and sessions and groups by the pid of their leader.
///
/// A process can enter a session only by birth from a member of the session (or by setsid(2)). The kernel reparents
/// orphans only to an ancestor. If the parent of a process never was in the process' session, the process was
/// reparented: it was born below the session's leader, and the leader was below this parent. If the leader isn't below
/// this parent now, the leader or one of its ancestors was reparented to a process further up.
///
/// The planner first finds, for each process, the ancestor below which it must be born (`below_`). From this ancestor
/// follows which processes must be reparented.
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

    /// Returns the session in which a planned process is after its own setsid(2), if it makes this call.
    TreePid finalSession(TreePid pid) { return birth(pid).leadsSession ? pid : bornIn_.at(pid); }

    bool isInSession(TreePid pid, TreePid sid) { return finalSession(pid) == sid || bornIn_.at(pid) == sid; }

    /// Adds `child` to the children that `creator` clones, before or after the setsid(2) of `creator`, so that it is
    /// born into the session `sid`. Returns false if `creator` is never in that session.
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

    /// Returns the session into which a leader must be born: it had children in that session before its setsid(2).
    /// Returns 0 if any session is possible.
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

    /// Returns the session into which a process must be born; 0 if any session is possible.
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

    /// Returns the ancestor of `pid` (or `pid`) whose parent is the nearest common ancestor of `pid` and `other`.
    [[nodiscard]] TreePid branchOf(TreePid pid, TreePid other) const {
        while (birthParent(pid) && !isUnder(other, birthParent(pid)))
            pid = birthParent(pid);
        return pid;
    }

    bool entersSession(TreePid pid, TreePid sid) { return facts_.at(pid).sid == sid || wantedSession(pid) == sid; }

    /// Ensures that the creator of `pid`, or a descendant of it, is in the session of `pid`. A process inherits its
    /// session, so only a member of the session can create it.
    void require(TreePid pid) {
        const TreePid sid = wantedSession(pid);
        const TreePid place = birthParent(pid);
        if (!sid || sid == outerSid_ || !place || entersSession(place, sid))
            return;
        if (!below_.contains(sid)) {
            below_[sid] = place;  // the leader of the session has ended
            return;
        }
        if (isUnder(sid, place))
            return;
        if (!facts_.contains(sid) && isUnder(place, birthParent(sid))) {
            below_[sid] = place;
            return;
        }
        // Earlier, the leader was below this birth parent, together with the ancestors that were reparented with it. If
        // the leader has ended, the process was below the birth parent of the leader's helper.
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

    /// Returns true if a descendant of `leader` began the session `sid`, in which `leader` has a child. The child was
    /// then reparented to `leader`. If false, `leader` created the child itself, before its own setsid(2).
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
        return sid > leader;  // decides by the pids, because the kernel usually assigns them in ascending order
    }

    /// Plans a process of the images, after the processes on which its birth depends.
    void ensure(TreePid pid) {
        if (isPlanned(pid))
            return;
        const BirthFacts& facts = facts_.at(pid);
        if (!begun_.insert(pid).second)
            fail("process {} is in session {}, whose leader can't be created before it", pid, facts.sid);
        Birth next;
        next.pid = pid;
        next.parent = facts.ppid;
        next.parentThread = facts.parentThread;
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
            ensureSession(sid, next);
        place(std::move(next), sid);
    }

    void placeRoot(Birth next, const BirthFacts& facts) {
        if (!next.leadsSession && facts.sid != outerSid_)
            fail("process {} is in session {}, which is not in the image (was the dump made with --shell-job?)",
                 facts.pid, facts.sid);
        add(std::move(next), outerSid_);
    }

    /// Plans the leader of session `sid` before its member `member`. If the leader has ended, plans a helper in its
    /// place.
    void ensureSession(TreePid sid, const Birth& member) {
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
            addLeader(sid, beginning, member.parent == beginning ? member.parentThread : TreePid());
    }

    /// Plans a process that is born into the session `sid`.
    void place(Birth next, TreePid sid) {
        const TreePid pid = next.pid;
        if (assign(next.parent, pid, sid)) {
            add(std::move(next), sid);
            return;
        }
        if (!placeBeside(next, sid, true) && !placeBeside(next, sid, false))
            adopt(std::move(next), next.parent, sid);
    }

    /// Finds a sibling of `wanted` that is in the session `sid`, and plans that the sibling clones `wanted` with
    /// CLONE_PARENT. Returns false if there is no such sibling. `sameThread`: true if the sibling must be a child of
    /// the same thread of the parent.
    bool placeBeside(const Birth& wanted, TreePid sid, bool sameThread) {
        for (std::size_t i = 0; i < births_.size(); ++i) {
            if (births_[i].parent != wanted.parent || births_[i].reparented ||
                (sameThread && births_[i].parentThread != wanted.parentThread))
                continue;
            const TreePid sibling = births_[i].pid;
            if (sibling <= TreePid() || !assign(sibling, wanted.pid, sid))
                continue;
            Birth next = wanted;
            next.creator = sibling;
            next.viaCloneParent = true;
            next.parentThread = births_[i].parentThread;
            add(std::move(next), sid);
            return true;
        }
        return false;
    }

    /// Plans that a process is born below `below`, which is a descendant of its final parent. The kernel later
    /// reparents the process.
    void placeBelow(Birth next, TreePid below, TreePid sid) {
        if (sid && !isInSession(below, sid))
            ensureSession(sid, next);
        adopt(std::move(next), below, sid ? sid : finalSession(below));
    }

    /// Plans a member of session `sid` that clones a helper. The helper clones `next` and ends. The member is `below`
    /// or a descendant of `below`.
    void adopt(Birth next, TreePid below, TreePid sid) {
        for (std::size_t i = 0; i < births_.size(); ++i) {
            const TreePid member = births_[i].pid;
            if (member < TreePid() || !isInSession(member, sid) || !isBelow(member, below))
                continue;
            const TreePid helper = addReparentHelper(member, sid);
            next.creator = helper;
            next.reparented = true;
            next.parentThread = TreePid();
            birth(helper).afterSession.push_back(next.pid);
            add(std::move(next), sid);
            return;
        }
        fail("process {} is in session {}, of which no process of the tree is a member that could create it", next.pid,
             sid);
    }

    /// Returns true if `pid` is `ancestor`, or if `ancestor` or one of its descendants created it. Follows the
    /// creators, not the final parents.
    bool isBelow(TreePid pid, TreePid ancestor) {
        for (TreePid at = pid; at; at = creatorSession(at))
            if (at == ancestor)
                return true;
        return false;
    }

    /// Returns the parent of a process at its birth, before any reparenting.
    TreePid creatorSession(TreePid pid) {
        const Birth& who = birth(pid);
        return who.reparented ? who.creator : who.parent;
    }

    /// Adds a helper that may have any pid. It creates one child and ends.
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

    /// Adds a helper that has the pid of an ended session leader. `parentThread`: parent of the helper. Siblings that
    /// the helper creates by CLONE_PARENT become children of this thread, too.
    void addLeader(TreePid sid, TreePid parent, TreePid parentThread) {
        Birth helper;
        helper.pid = helper.pgid = sid;
        helper.parent = helper.creator = parent;
        helper.parentThread = parentThread;
        helper.helper = true;
        helper.leadsSession = true;
        birth(parent).afterSession.push_back(sid);
        add(helper, finalSession(parent));
    }

    /// Adds a helper that has the pid of an ended group leader, in the session of the group's members.
    void ensureGroupLeader(const BirthFacts& facts) {
        const TreePid pgid = facts.pgid;
        if (!pgid || isPlanned(pgid))
            return;
        const Birth& root = births_.front();
        if (!root.leadsSession && facts.sid == outerSid_ && facts_.at(root.pid).pgid == pgid)
            return;  // criu's group, which the root inherits together with criu's session
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
    std::map<TreePid, TreePid> birthSessions_;  ///< results of birthSession()
    std::map<TreePid, TreePid> below_;          ///< birth parent by process: the process below which it is born
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
