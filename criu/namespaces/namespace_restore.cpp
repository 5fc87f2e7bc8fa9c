// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/namespace_restore.hpp"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/ns_ids.hpp"

namespace criu::namespaces {
namespace {

[[noreturn]] void failOther(const model::Task& task, kernel::NamespaceKind kind) {
    fail("process {} was in another {} namespace than the root of the tree, which can't be restored yet", task.pid,
         kernel::namespaceName(kind));
}

void requireNoOthers(const RestoreInputs& inputs, kernel::NamespaceKind kind, const KindNsIds& numbers) {
    if (numbers.others.empty())
        return;
    const auto& tasks = inputs.tree.tasks;
    const auto other = std::find_if(tasks.begin(), tasks.end(), [&](const auto& task) {
        return task->ids && numberOf(**task->ids, kind) == numbers.others.front();
    });
    failOther(**other, kind);
}

class JoinedRestore final : public NamespaceRestore {
public:
    JoinedRestore(const JoinedNamespaces& joined, kernel::NamespaceKind kind) : joined_(joined), kind_(kind) {}
    void enterFirst(const FirstProcess& /*first*/) override { joined_.enter(kind_); }

private:
    const JoinedNamespaces& joined_;
    kernel::NamespaceKind kind_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeJoinedRestore(const RestoreInputs& inputs, kernel::NamespaceKind kind) {
    return std::make_unique<JoinedRestore>(inputs.joined, kind);
}

KindNsIds KindNsIds::ofAny(const RestoreInputs& inputs, kernel::NamespaceKind kind) {
    const model::Task& root = inputs.tree.root();
    if (!root.ids || inputs.outside == nullptr)
        return {};
    KindNsIds numbers;
    numbers.own = ownNumberOf(inputs.outside, root.ids->get(), kind);
    // If a nested user namespace owns the root's namespace, criu creates the root in criu's namespace, and the root
    // enters its own namespace later. So this code treats the root's namespace like a non-root namespace.
    if (inputs.nsContext.ownerOf(numbers.own) != nullptr)
        numbers.others.push_back(std::exchange(numbers.own, 0));
    const auto ofRoot = numberOf(**root.ids, kind);
    const auto ofCriu = numberOf(*inputs.outside, kind);
    for (const auto& task : inputs.tree.tasks) {
        const auto number = task->ids ? numberOf(**task->ids, kind) : ofRoot;
        if (number == ofRoot)
            continue;
        if (!number || number == ofCriu)
            failOther(*task, kind);
        if (std::find(numbers.others.begin(), numbers.others.end(), *number) == numbers.others.end())
            numbers.others.push_back(*number);
    }
    return numbers;
}

KindNsIds KindNsIds::of(const RestoreInputs& inputs, kernel::NamespaceKind kind) {
    KindNsIds numbers = ofAny(inputs, kind);
    if (numbers.own == 0)
        requireNoOthers(inputs, kind, numbers);
    return numbers;
}

KindNsIds KindNsIds::ofOne(const RestoreInputs& inputs, kernel::NamespaceKind kind) {
    KindNsIds numbers = ofAny(inputs, kind);
    requireNoOthers(inputs, kind, numbers);
    return numbers;
}

void visitNamespace(const kernel::ProcPid& process, kernel::NamespaceKind kind, const Work& work) {
    const std::string_view name = kernel::namespaceName(kind);
    const UniqueFd space = process.open(fmt::format("ns/{}", name), O_RDONLY);
    const ErrorContext context([&] { return fmt::format("in the {} namespace of the tree", name); });
    kernel::runInThread([&] {
        sys(::setns(space.get(), kernel::namespaceCloneFlag(kind)), "enter it");
        work();
    });
}

}  // namespace criu::namespaces
