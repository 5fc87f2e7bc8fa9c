// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/cgroup_namespace_restore.hpp"

#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/cgroup/set_of.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "images/core.hpp"

namespace criu::namespaces {
namespace {

class CgroupNamespaceRestore final : public NamespaceRestore {
public:
    explicit CgroupNamespaceRestore(cgroup::CgroupRestore& groups) : groups_(groups) {}

    /// A namespace's roots are the groups that its creator is in at that moment. The process could be born in it, but
    /// not before it is in these groups.
    void enterFirst(const FirstProcess& first) override {
        const std::uint32_t wanted = cgroup::setOf(first.task.core());
        if (wanted == 0)
            return;
        groups_.enterNamespace(wanted, first.cgroups);
        first.cgroups = wanted;
    }

private:
    cgroup::CgroupRestore& groups_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeCgroupRestore(const RestoreInputs& inputs, cgroup::CgroupRestore& groups) {
    if (KindNumbers::ofOne(inputs, kernel::NamespaceKind::Cgroup).own == 0)
        return nullptr;
    return std::make_unique<CgroupNamespaceRestore>(groups);
}

}  // namespace criu::namespaces
