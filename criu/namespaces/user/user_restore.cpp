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
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/namespaces/user/nested_userns.hpp"
#include "criu/task/credentials.hpp"

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
    UserRestore(const RestoreInputs& inputs, const std::vector<std::uint32_t>& numbers)
        : NestedUsernsRestore(inputs, numbers) {
        nsContext_.usernsd = &usernsd_;
    }

    [[nodiscard]] std::size_t descriptors() const override { return 2 + NestedUsernsRestore::descriptors(); }

    void prepare(kernel::FdStore& store, const Inherited& inherited) override {
        usernsd_.inherit(store);
        NestedUsernsRestore::prepare(store, inherited);
    }

    /// clone(2) creates the user namespace first, so that it owns the other requested namespaces.
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr ? CLONE_NEWUSER : 0;
    }

    /// Does nothing here, because the new user namespace has no id map yet. build() creates the nested ones.
    void begin() override {}

    /// Writes the id maps from the parent user namespace: only a process with capabilities there can write a map of
    /// several ids. Each map can be written only once.
    void firstCreated(const kernel::ProcPid& first) override {
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
};

/// Throws Error if --join-ns can't replace the root's user namespace. The option can replace only a user namespace that
/// processes enter at their privilege drop.
void requireJoinable(const KindNsIds& numbers, std::uint32_t ofRoot, const JoinedNamespaces& joined) {
    if (numbers.own != 0)
        fail(
            "--join-ns user: the tree had a pid namespace together with its user namespace, in which no process of "
            "another "
            "user namespace can choose pids");
    if (ofRoot == 0)
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
    const model::IdMap ids = model::IdMap::ofImage(inputs.images, numbers.own);
    for (const NamespaceKind kind : kNsIdOrder)
        if (inputs.joined.has(kind))
            fail("--join-ns: a tree with a user namespace of its own can't be put into a {} namespace from outside yet",
                 kernel::namespaceName(kind));
    if (ids.firstUid() == model::IdMap::kNone || ids.firstGid() == model::IdMap::kNone)
        fail("{} names no users or no groups", imageName(ImageKind::Userns, numbers.own));
    inputs.nsContext.ids = ids;
    return std::make_unique<UserRestore>(inputs, numbers.others);
}

}  // namespace criu::namespaces
