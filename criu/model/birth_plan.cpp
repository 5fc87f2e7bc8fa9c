// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_plan.hpp"

#include <map>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::model {
namespace {

/// Works on the image's processes; sessions and groups are looked up by number all the time.
class Planner {
public:
    Planner(std::span<const BirthFacts> processes, pid_t outerSid) : outerSid_(outerSid) {
        for (const BirthFacts& facts : processes)
            facts_.emplace(facts.pid, facts);
    }

    std::vector<Birth> run(std::span<const BirthFacts> processes) {
        for (const BirthFacts& facts : processes)
            if (!index_.contains(facts.pid))  // a leader may have been planned for a member that came first
                place(facts);
        for (const BirthFacts& facts : processes)
            ensureGroupLeader(facts);
        return std::move(births_);
    }

private:
    Birth& birth(pid_t pid) { return births_[index_.at(pid)]; }

    Birth& add(Birth next, pid_t bornIn) {
        bornIn_[next.pid] = bornIn;
        index_[next.pid] = births_.size();
        births_.push_back(std::move(next));
        return births_.back();
    }

    /// Session a planned process is in once it has done all its own calls.
    pid_t finalSession(pid_t pid) { return birth(pid).leadsSession ? pid : bornIn_.at(pid); }

    /// Makes `creator` clone `child`, whose session must be `sid`, at the right side of the creator's setsid.
    /// False if the creator is never in that session.
    bool assign(pid_t creator, pid_t child, pid_t sid) {
        Birth& who = birth(creator);
        if (finalSession(creator) == sid)
            who.afterSession.push_back(child);
        else if (bornIn_.at(creator) == sid)
            who.beforeSession.push_back(child);
        else
            return false;
        return true;
    }

    void place(const BirthFacts& facts) {
        Birth next;
        next.pid = facts.pid;
        next.parent = facts.ppid;
        next.creator = facts.ppid;
        next.pgid = facts.pgid;
        next.leadsSession = facts.sid == facts.pid;

        if (facts.ppid == 0) {
            if (!next.leadsSession && facts.sid != outerSid_)
                fail("process {} is in session {}, which is not in the image (was the dump made with --shell-job?)",
                     facts.pid, facts.sid);
            add(std::move(next), outerSid_);
            return;
        }

        if (next.leadsSession) {
            placeLeader(std::move(next), facts);
            return;
        }
        if (assign(facts.ppid, facts.pid, facts.sid)) {
            add(std::move(next), facts.sid);
            return;
        }
        placeOrphan(std::move(next), facts);
    }

    /// A session leader may be born into any session. But children of its own that belong to an older
    /// session tell into which one.
    void placeLeader(Birth next, const BirthFacts& facts) {
        for (const auto& [pid, other] : facts_) {
            if (other.ppid != facts.pid || other.sid == facts.pid || other.sid == other.pid)
                continue;
            if (assign(facts.ppid, facts.pid, other.sid)) {
                add(std::move(next), other.sid);
                return;
            }
        }
        birth(facts.ppid).afterSession.push_back(facts.pid);
        add(std::move(next), finalSession(facts.ppid));
    }

    /// The parent was never in this process' session: it adopted the process.
    void placeOrphan(Birth next, const BirthFacts& facts) {
        const pid_t sid = facts.sid;
        if (!index_.contains(sid)) {
            if (facts_.contains(sid)) {
                placeBelowLaterLeader(std::move(next), facts);
                return;
            }
            addHelper(sid, facts.ppid, /*session=*/true, sid);
        }
        // A child of the same parent that is in the session clones a sibling directly.
        for (std::size_t i = 0; i < births_.size(); ++i) {
            if (births_[i].parent != facts.ppid)
                continue;
            const pid_t sibling = births_[i].pid;
            if (assign(sibling, facts.pid, sid)) {
                next.creator = sibling;
                next.viaCloneParent = true;
                add(std::move(next), sid);
                return;
            }
        }
        adoptFromSession(std::move(next), facts);
    }

    /// A member of the session deeper in the tree clones a helper; the helper clones this process and exits.
    void adoptFromSession(Birth next, const BirthFacts& facts) {
        for (std::size_t i = 0; i < births_.size(); ++i) {
            const pid_t member = births_[i].pid;
            if (births_[i].helper || finalSession(member) != facts.sid)
                continue;
            const pid_t helper = spareHelper(member, facts.sid);
            next.creator = helper;
            next.adopted = true;
            birth(helper).afterSession.push_back(facts.pid);
            add(std::move(next), facts.sid);
            return;
        }
        fail("process {} is in session {}, of which no process of the tree is a member that could create it", facts.pid,
             facts.sid);
    }

    /// The leader of the session comes later in the image than its member; plan the leader (and what it needs) first.
    void placeBelowLaterLeader(Birth next, const BirthFacts& facts) {
        const BirthFacts& leader = facts_.at(facts.sid);
        if (!index_.contains(leader.ppid) || leader.pid != leader.sid)
            fail("process {} is in session {}, whose leader can't be created before it", facts.pid, facts.sid);
        place(leader);
        placeOrphan(std::move(next), facts);
    }

    /// A helper with a free pid: it only exists to hand its child over.
    pid_t spareHelper(pid_t member, pid_t sid) {
        Birth helper;
        helper.pid = --lastSpare_;
        helper.parent = helper.creator = member;
        helper.helper = true;
        add(helper, sid);
        birth(member).afterSession.push_back(helper.pid);
        return helper.pid;
    }

    void addHelper(pid_t pid, pid_t parent, bool session, pid_t sid) {
        Birth helper;
        helper.pid = pid;
        helper.parent = helper.creator = parent;
        helper.pgid = pid;
        helper.helper = true;
        helper.leadsSession = session;
        if (session)
            birth(parent).afterSession.push_back(pid);
        else if (!assign(parent, pid, sid))
            fail("group leader {} can't be put into session {}", pid, sid);
        add(helper, session ? finalSession(parent) : sid);
    }

    /// Groups whose leader is gone get a helper with the leader's pid, in the session of the members.
    void ensureGroupLeader(const BirthFacts& facts) {
        const pid_t pgid = facts.pgid;
        if (pgid == 0 || index_.contains(pgid))
            return;
        const Birth& root = births_.front();
        if (!root.leadsSession && facts.sid == outerSid_ && facts_.at(root.pid).pgid == pgid)
            return;  // the caller's own group, adopted with its session
        addHelper(pgid, facts.pid, false, facts.sid);
    }

    pid_t outerSid_;
    pid_t lastSpare_ = 0;
    std::map<pid_t, BirthFacts> facts_;
    std::map<pid_t, std::size_t> index_;
    std::map<pid_t, pid_t> bornIn_;
    std::vector<Birth> births_;
};

}  // namespace

BirthPlan BirthPlan::make(std::span<const BirthFacts> processes, pid_t outerSid) {
    BirthPlan plan;
    plan.births_ = Planner(processes, outerSid).run(processes);
    for (std::size_t i = 0; i < plan.births_.size(); ++i)
        plan.index_.emplace(plan.births_[i].pid, i);
    return plan;
}

const Birth& BirthPlan::of(pid_t pid) const {
    const auto found = index_.find(pid);
    if (found == index_.end())
        fail("process {} is not in the plan", pid);
    return births_[found->second];
}

std::size_t BirthPlan::helpers() const {
    std::size_t count = 0;
    for (const Birth& birth : births_)
        count += birth.helper ? 1 : 0;
    return count;
}

}  // namespace criu::model
