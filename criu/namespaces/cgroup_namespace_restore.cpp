// SPDX-License-Identifier: GPL-2.0-only
#include <map>

#include "criu/base/error.hpp"
#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/cgroup/set_of.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/non_root_ns_restore.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "images/core.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

class CgroupNamespaceRestore final : public NamespaceRestore {
public:
    CgroupNamespaceRestore(const RestoreInputs& inputs, const KindNsIds& numbers, cgroup::CgroupRestore& groups)
        : ofFirst_(numbers.own != 0),
          groups_(groups),
          further_(NamespaceKind::Cgroup, numbers.others, inputs.nsContext) {
        for (const std::uint32_t number : numbers.others)
            sets_.emplace(number, setOfMember(inputs.tree, number));
    }

    [[nodiscard]] std::size_t descriptors() const override { return further_.descriptors(); }
    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override { further_.prepare(store); }

    /// Enters the cgroups before it creates a cgroup namespace, because the current cgroups of the creator become the
    /// roots of the namespace. CLONE_NEWCGROUP at birth would be too early: a new process is still in criu's cgroups.
    void enterFirst(const FirstProcess& first) override {
        const std::uint32_t wanted = cgroup::setOf(first.task.core());
        const auto create = [&](std::uint32_t set) {
            groups_.enterNamespace(set, first.cgroups);
            first.cgroups = set;
            return true;
        };
        if (ofFirst_ && wanted != 0)
            create(wanted);
        further_.make([&](std::uint32_t number) { return create(sets_.at(number)); });
    }

    void complete(const model::Task& task) const override { further_.enter(task); }
    void completeThread(const model::Task& /*task*/) const override { further_.follow(); }

private:
    /// Returns the cgroup set of a process that was in the namespace. The roots of the namespace contain the cgroups of
    /// this set.
    static std::uint32_t setOfMember(const model::ProcessTree& tree, std::uint32_t number) {
        for (const auto& task : tree.tasks)
            if (task->ids && numberOf(**task->ids, NamespaceKind::Cgroup) == number)
                if (const std::uint32_t set = cgroup::setOf(task->core()); set != 0)
                    return set;
        fail("the images don't say which groups processes in cgroup namespace {} were in", number);
    }

    bool ofFirst_;  ///< true if the root had a private cgroup namespace
    cgroup::CgroupRestore& groups_;
    std::map<std::uint32_t, std::uint32_t> sets_;  ///< cgroup sets; the key is the id of a non-root namespace
    NonRootNs further_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeCgroupRestore(const RestoreInputs& inputs, cgroup::CgroupRestore& groups) {
    const KindNsIds numbers = KindNsIds::ofAny(inputs, NamespaceKind::Cgroup);
    const bool ignored = inputs.options.cgroupMode == model::CgroupMode::Ignore;
    if (ignored || (numbers.own == 0 && numbers.others.empty()))
        return nullptr;
    return std::make_unique<CgroupNamespaceRestore>(inputs, numbers, groups);
}

}  // namespace criu::namespaces
