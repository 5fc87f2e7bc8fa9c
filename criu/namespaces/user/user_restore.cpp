// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/usernsd.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/namespaces/user/given_userns.hpp"
#include "criu/namespaces/user/nested_userns.hpp"
#include "criu/task/credentials.hpp"
#include "images/core.hpp"
#include "images/creds.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Restore of nested user namespaces.
class NestedUsernsRestore : public NamespaceRestore {
public:
    /// `joined`: namespace id of the namespace that --join-ns replaces; 0 for none.
    NestedUsernsRestore(const RestoreInputs& inputs, const std::vector<std::uint32_t>& numbers,
                        std::uint32_t joined = 0)
        : nsContext_(inputs.nsContext), joined_(inputs.joined), further_(inputs.images, numbers, inputs.tree) {
        joinedNumber_ = joined;
        if (numbers.empty())
            return;
        inputs.nsContext.usernsOf = [this](const model::Task& task) { return further_.of(task); };
        inputs.nsContext.ownerOf = [this](std::uint32_t number) { return further_.owning(number); };
    }

    [[nodiscard]] std::size_t descriptors() const override { return further_.descriptors(); }
    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override {
        if (joinedNumber_ != 0)
            further_.join(joinedNumber_, joined_.descriptor(NamespaceKind::User));
        further_.prepare(store);
    }
    void begin() override { makeFurther(); }

protected:
    void makeFurther() const { further_.make(nsContext_.ids); }

    RestoreNsContext& nsContext_;

private:
    const JoinedNamespaces& joined_;
    std::uint32_t joinedNumber_ = 0;
    NestedUserns further_;
};

/// Restore of the private user namespace and of nested user namespaces.
class UserRestore final : public NestedUsernsRestore {
public:
    /// `given`: existing namespace to use instead of a new one; null to create one.
    UserRestore(const RestoreInputs& inputs, const std::vector<std::uint32_t>& numbers,
                std::unique_ptr<const GivenUserns> given)
        : NestedUsernsRestore(inputs, numbers), given_(std::move(given)) {
        nsContext_.usernsd = &usernsd_;
        if (given_)
            nsContext_.createInUserns = [this](const std::function<HostPid()>& create) {
                return given_->createInside(create);
            };
    }

    [[nodiscard]] std::size_t descriptors() const override { return 2 + NestedUsernsRestore::descriptors(); }

    void prepare(kernel::FdStore& store, const Inherited& inherited) override {
        usernsd_.inherit(store);
        NestedUsernsRestore::prepare(store, inherited);
    }

    /// clone(2) creates the user namespace first, so that it owns the other requested namespaces. In a given user
    /// namespace, the helper of GivenUserns creates the first process.
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent != nullptr ? 0 : given_ ? CLONE_PARENT : CLONE_NEWUSER;
    }

    /// Does nothing here, because the new user namespace has no id map yet. build() creates the nested ones.
    void begin() override {}

    /// Writes the id maps from the parent user namespace: only a process with capabilities there can write a map of
    /// several ids. Each map can be written only once.
    void firstCreated(const kernel::ProcPid& first) override {
        if (given_)
            return;
        first.write("uid_map", nsContext_.ids.uidText());
        if (nsContext_.ids.deniesSetgroups())
            first.write("setgroups", "deny");  // not permitted after gid_map is written
        first.write("gid_map", nsContext_.ids.gidText());
    }

    void close() override { usernsd_.serve(); }

    /// Becomes root of the tree's user namespace, so that root owns all new objects.
    void build() override {
        // Creates the nested namespaces as outer root, because outer root owns the /proc files of processes that aren't
        // dumpable.
        makeFurther();
        // Changes to the root directory, because root of the user namespace may lack permission for criu's directory.
        sys(::chdir("/"), "enter the root directory");
        task::becomeUsernsRoot(nsContext_.ids);
    }

    void finish(const kernel::ProcPid& /*first*/) override { usernsd_.stop(); }

private:
    kernel::Usernsd usernsd_;
    std::unique_ptr<const GivenUserns> given_;
};

/// Throws Error if a user or group of a process isn't in the map, because setresuid(2) and setgroups(2) would fail.
void requireIds(const model::ProcessTree& tree, const model::IdMap& ids) {
    const auto require = [](bool known, TreePid pid, std::string_view kind, std::uint32_t id) {
        if (!known)
            fail("--join-ns user: process {} has {} {}, which isn't in the map of that user namespace", pid, kind, id);
    };
    for (const auto& task : tree.tasks)
        for (const model::Thread& thread : task->threads) {
            if ((*thread.core)->thread_core == nullptr || (*thread.core)->thread_core->creds == nullptr)
                continue;
            const CredsEntry& creds = *(*thread.core)->thread_core->creds;
            for (const std::uint32_t id : {creds.uid, creds.euid, creds.suid, creds.fsuid})
                require(ids.outerUid(id) != model::IdMap::kNone, task->pid, "user", id);
            for (const std::uint32_t id : {creds.gid, creds.egid, creds.sgid, creds.fsgid})
                require(ids.outerGid(id) != model::IdMap::kNone, task->pid, "group", id);
            for (const std::uint32_t id : list(creds.groups, creds.n_groups))
                require(ids.outerGid(id) != model::IdMap::kNone, task->pid, "group", id);
        }
}

/// Throws Error if --join-ns can't replace the root's user namespace.
void requireJoinable(const KindNsIds& numbers, std::uint32_t ofRoot, const JoinedNamespaces& joined) {
    if (numbers.own == 0 && ofRoot == 0)
        fail("--join-ns user: the tree was in the user namespace of criu, and can't be put into another one");
    struct stat wanted {};
    sys(::fstat(joined.descriptor(NamespaceKind::User), &wanted), "look at the user namespace to be joined");
    // Refuses criu's namespace early, because setns(2) would refuse it only at the end of the restore.
    if (wanted.st_ino == kernel::readNamespaceId(kernel::ProcDir().self(), NamespaceKind::User))
        fail("--join-ns user: that is the user namespace of criu, which the kernel doesn't let criu enter again");
}

}  // namespace

std::unique_ptr<NamespaceRestore> makeUserRestore(const RestoreInputs& inputs) {
    KindNsIds numbers = KindNsIds::ofAny(inputs, NamespaceKind::User);
    std::uint32_t ofRoot = 0;
    if (numbers.own != 0 && model::UserNsPosition::ofImage(inputs.images, numbers.own))
        numbers.others.push_back(ofRoot = std::exchange(numbers.own, 0));
    if (inputs.joined.has(NamespaceKind::User))
        requireJoinable(numbers, ofRoot, inputs.joined);
    if (numbers.own == 0 && numbers.others.empty())
        return nullptr;
    if (numbers.own == 0)
        return std::make_unique<NestedUsernsRestore>(inputs, numbers.others,
                                                     inputs.joined.has(NamespaceKind::User) ? ofRoot : 0);
    if (KindNsIds::ofAny(inputs, NamespaceKind::Pid).own == 0)
        fail(
            "the tree had a user namespace of its own, but no pid namespace, without which its pids can't be restored "
            "there");
    std::unique_ptr<const GivenUserns> given;
    if (inputs.joined.has(NamespaceKind::User))
        given = std::make_unique<const GivenUserns>(inputs.joined, inputs.options.restoreSibling);
    for (const NamespaceKind kind : kNsIdOrder)
        if (inputs.joined.has(kind) && (!given || kind == NamespaceKind::Mount || kind == NamespaceKind::Cgroup))
            fail("--join-ns: a tree with a user namespace of its own can't be put into a {} namespace from outside{}",
                 kernel::namespaceName(kind), given ? "" : " without --join-ns user");
    const model::IdMap ids = given ? given->ids() : model::IdMap::ofImage(inputs.images, numbers.own);
    if (given)
        requireIds(inputs.tree, ids);
    if (ids.firstUid() == model::IdMap::kNone || ids.firstGid() == model::IdMap::kNone)
        fail("{} names no users or no groups",
             given ? "the map of the given user namespace" : imageName(ImageKind::Userns, numbers.own));
    inputs.nsContext.ids = ids;
    return std::make_unique<UserRestore>(inputs, numbers.others, std::move(given));
}

}  // namespace criu::namespaces
