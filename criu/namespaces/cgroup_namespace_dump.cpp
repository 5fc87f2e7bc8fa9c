// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"

/// Cgroup namespaces (cgroup_namespaces(7)), and the groups themselves: what a namespace has follows from which part of
/// a group's path its processes see.
namespace criu::namespaces {
namespace {

class CgroupNamespaceDump final : public NamespaceDump {
public:
    explicit CgroupNamespaceDump(const DumpInputs& with)
        : NamespaceDump(kernel::NamespaceKind::Cgroup, with),
          groups_(with.options, with.cgroupProperties, isOwn() ? &with.tree.root().dir : nullptr, with.freezer) {
        requireOne();
        with.surroundings.cgroups = &groups_;
    }

    void write(const DumpOutputs& outputs) override { groups_.write(outputs.images); }

private:
    cgroup::CgroupDump groups_;
};

}  // namespace

std::unique_ptr<NamespaceDump> makeCgroupDump(const DumpInputs& inputs) {
    return std::make_unique<CgroupNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
