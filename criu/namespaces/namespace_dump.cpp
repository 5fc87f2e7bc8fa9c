// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/namespace_dump.hpp"

#include <fcntl.h>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/kernel/namespace_visit.hpp"

namespace criu::namespaces {

std::string SeenProcess::describe() const {
    return fmt::format("process {} ({})", pid, name);
}

std::optional<std::uint32_t> NamespaceDump::numberOfInode(std::uint32_t inode) const {
    return inputs_.tree.root().ids.of(kind_) == inode ? std::optional(rootNumber()) : std::nullopt;
}

std::uint32_t NamespaceDump::usersOfTree() const {
    using kernel::NamespaceKind;
    const bool own = inputs_.numbers.isOwn(NamespaceKind::User) && inputs_.numbers.isOwn(NamespaceKind::Pid);
    return (own ? inputs_.tree.root().ids : inputs_.tree.criu).of(NamespaceKind::User).value_or(0);
}

void NamespaceDump::requireOne() const {
    const auto ofRoot = inputs_.tree.root().ids.of(kind_);
    for (const SeenProcess& process : inputs_.tree.processes)
        if (process.ids.of(kind_) != ofRoot)
            fail("{} is in another {} namespace than the root of the tree", process.describe(),
                 kernel::namespaceName(kind_));
}

void NamespaceDump::inside(const SeenProcess& process, const std::function<void()>& work) const {
    const UniqueFd space = process.dir.open(fmt::format("ns/{}", kernel::namespaceName(kind_)), O_RDONLY);
    kernel::runInThread([&] {
        const kernel::NamespaceVisit visit(space.get(), kind_);
        work();
    });
}

}  // namespace criu::namespaces
