// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/non_root_ns_dump.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/model/options.hpp"

namespace criu::namespaces {

NonRootNsDump::NonRootNsDump(kernel::NamespaceKind kind, const DumpInputs& inputs) : kind_(kind), inputs_(inputs) {
    const SeenTree& tree = inputs.tree;
    const auto ofRoot = tree.root().ids.of(kind);
    for (const SeenProcess& process : tree.processes) {
        const auto inode = process.ids.of(kind);
        if (inode == ofRoot)
            continue;
        if (!inode || inode == tree.criu.of(kind))
            fail("{} is in the {} namespace of criu, but the root of the tree isn't", process.describe(),
                 kernel::namespaceName(kind));
        if (find(*inode) == nullptr)
            add(*inode, process);
        places_.emplace(process.pid, static_cast<std::size_t>(find(*inode) - spaces_.data()));
    }
}

const NonRootNsDump::Space* NonRootNsDump::find(std::uint32_t inode) const noexcept {
    const auto found =
        std::find_if(spaces_.begin(), spaces_.end(), [inode](const Space& space) { return space.inode == inode; });
    return found != spaces_.end() ? &*found : nullptr;
}

const NonRootNsDump::Space* NonRootNsDump::of(HostPid process) const {
    const auto found = places_.find(process);
    return found != places_.end() ? &spaces_[found->second] : nullptr;
}

std::uint32_t NonRootNsDump::add(std::uint32_t inode, const SeenProcess& process) {
    if (inputs_.options.compat)
        fail("{} is in another {} namespace than the root of the tree, which CRIU 4.2 can't restore",
             process.describe(), kernel::namespaceName(kind_));
    spaces_.push_back({inode, inputs_.numbers.addOther(), &process});
    return spaces_.back().number;
}

void NonRootNsDump::noteExtension(const DumpOutputs& outputs) const {
    auto& names = outputs.extensions;
    if (!empty() && std::find(names.begin(), names.end(), kNonRootNsExtension) == names.end())
        names.emplace_back(kNonRootNsExtension);
}

std::uint32_t NonRootNsKindDump::numberOf(HostPid process) const {
    const auto* const space = further_.of(process);
    return space == nullptr ? rootNumber() : space->number;
}

std::optional<std::uint32_t> NonRootNsKindDump::numberOfInode(std::uint32_t inode) const {
    const bool known = enters_ == Enters::AfterItsFiles || further_.empty();
    return known ? NamespaceDump::numberOfInode(inode) : std::nullopt;
}

}  // namespace criu::namespaces
