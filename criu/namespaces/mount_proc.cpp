// SPDX-License-Identifier: GPL-2.0-only
// A proc file system shows the pid namespace of who has mounted it. The first process of a restored tree mounts all of
// them, when the pid namespaces below its own don't exist yet.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/namespaces/mount_dump.hpp"

namespace criu::namespaces {
namespace {

/// By the inode of what its process 1 is in; nothing if there is none, or criu may not look at it, which it may at
/// those of the tree.
std::optional<std::uint32_t> shownNamespace(int proc) {
    std::array<char, 64> target;
    const ssize_t length = ::readlinkat(proc, "1/ns/pid", target.data(), target.size());
    return length < 0 ? std::nullopt
                      : std::optional(kernel::parseNamespaceLink({target.data(), static_cast<std::size_t>(length)}));
}

}  // namespace

void MountDump::refuseProcOf(const std::function<HostPid(std::uint32_t inode)>& firstOfNested) const {
    std::map<std::uint32_t, const Mount*> systems;
    std::set<int> wanted;
    for (const Space& space : spaces_)
        for (const Mount& mount : space.mounts.all())
            if (mount.kind.code == FSTYPE__PROC && mount.isWhole() && !mount.externalName &&
                systems.emplace(mount.device, &mount).second)
                wanted.insert(mount.id);
    const std::map<int, UniqueFd> opened = openAll(wanted);
    for (const auto& [device, mount] : systems) {
        const auto shown = shownNamespace(opened.at(mount->id).get());
        const HostPid first = shown ? firstOfNested(*shown) : HostPid();
        if (!first)
            continue;
        Error error(
            0, fmt::format("{} shows a pid namespace below that of the root of the tree, which can't be dumped yet",
                           mount->describe()));
        error.addHint(fmt::format("what is in that namespace can be dumped from its first process on: -t {}", first));
        throw error;
    }
}

}  // namespace criu::namespaces
