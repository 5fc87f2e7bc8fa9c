// SPDX-License-Identifier: GPL-2.0-only
#include <map>

#include "criu/base/ids.hpp"
#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/non_root_ns_dump.hpp"

/// Dump of cgroup namespaces (cgroup_namespaces(7)) and of cgroups. A process sees only the part of a cgroup path below
/// the root of its namespace.
namespace criu::namespaces {
namespace {

class CgroupNamespaceDump final : public NonRootNsKindDump {
public:
    explicit CgroupNamespaceDump(const DumpInputs& with)
        : NonRootNsKindDump(kernel::NamespaceKind::Cgroup, with, Enters::AfterItsFiles),
          groups_(with.options, with.cgroupProperties, with.freezer) {
        if (isOwn())
            views_.emplace(rootNumber(), groups_.addNamespace(with.tree.root().dir));
        for (const auto& space : further_.all())
            views_.emplace(space.number, groups_.addNamespace(space.member->dir));
        with.nsContext.cgroups = &groups_;
        with.nsContext.cgroupViewOf = [this](HostPid process) {
            const auto view = views_.find(numberOf(process));
            return view != views_.end() ? view->second : cgroup::CgroupNsView::OfCriu;
        };
    }

    void write(const DumpOutputs& outputs) override {
        groups_.write(outputs.images);
        further_.noteExtension(outputs);
    }

private:
    cgroup::CgroupDump groups_;
    std::map<std::uint32_t, cgroup::CgroupNsView> views_;  ///< the key is the namespace id
};

}  // namespace

std::unique_ptr<NamespaceDump> makeCgroupDump(const DumpInputs& inputs) {
    return std::make_unique<CgroupNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
