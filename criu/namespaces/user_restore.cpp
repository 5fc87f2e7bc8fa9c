// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/user_restore.hpp"

#include <sched.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/outside_help.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/image_order.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/task/credentials.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

class UserRestore final : public NamespaceRestore {
public:
    explicit UserRestore(Surroundings& surroundings) : surroundings_(surroundings) { surroundings.help = &help_; }

    [[nodiscard]] std::size_t descriptors() const override { return 2; }

    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override { help_.inherit(store); }

    /// The kernel makes a user namespace before all others that a clone(2) asks for, so these belong to it.
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr ? CLONE_NEWUSER : 0;
    }

    /// Maps of more than one id are for somebody outside to write, once.
    void meet(const kernel::ProcPid& first) override {
        first.write("uid_map", surroundings_.ids.uidText());
        if (surroundings_.ids.deniesSetgroups())
            first.write("setgroups", "deny");  // not any more when there is a map of groups
        first.write("gid_map", surroundings_.ids.gidText());
    }

    void close() override { help_.serve(); }

    /// What is made from here on belongs to somebody of the tree's user namespace.
    void build() override {
        // Where criu is may be nothing for that user.
        sys(::chdir("/"), "enter the root directory");
        task::becomeFirst(surroundings_.ids);
    }

    void finish(const kernel::ProcPid& /*first*/) override { help_.stop(); }

private:
    Surroundings& surroundings_;
    kernel::OutsideHelp help_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeUserRestore(const RestoreInputs& inputs) {
    const std::uint32_t number = KindNumbers::ofOne(inputs, NamespaceKind::User).own;
    if (number == 0)
        return nullptr;
    if (KindNumbers::of(inputs, NamespaceKind::Pid).own == 0)
        fail(
            "the tree had a user namespace of its own, but no pid namespace, without which its pids can't be restored "
            "there");
    const model::IdMap ids = model::IdMap::ofImage(inputs.images, number);
    for (const NamespaceKind kind : kImageOrder)
        if (inputs.joined.has(kind))
            fail("--join-ns: a tree with a user namespace of its own can't be put into a {} namespace from outside yet",
                 kernel::namespaceName(kind));
    if (ids.firstUid() == model::IdMap::kNone || ids.firstGid() == model::IdMap::kNone)
        fail("{} names no users or no groups", imageName(ImageKind::Userns, number));
    inputs.surroundings.ids = ids;
    return std::make_unique<UserRestore>(inputs.surroundings);
}

}  // namespace criu::namespaces
