// SPDX-License-Identifier: GPL-2.0-only
// A proc file system shows the pid namespace of who has mounted it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/namespaces/mount_dump.hpp"
#include "criu/namespaces/nested_proc.hpp"

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

bool isCriusProc(std::uint32_t device) {
    struct stat status {};
    sys(::stat("/proc", &status), "stat /proc");
    return kernel::kernelForm(status.st_dev) == device;
}

}  // namespace

void MountDump::noteProcsOf(const std::function<TreePid(std::uint32_t inode)>& firstOfNested) {
    std::map<std::uint32_t, const Mount*> systems;
    std::set<int> wanted;
    for (const Mount* const mount : all())
        if (mount->kind.code == FSTYPE__PROC && mount->isWhole() && !mount->externalName &&
            systems.emplace(mount->device, mount).second)
            wanted.insert(mount->id);
    std::map<std::uint32_t, TreePid> firsts;
    const std::map<int, UniqueFd> opened = openAll(wanted);
    for (const auto& [device, mount] : systems)
        if (const auto shown = shownNamespace(opened.at(mount->id).get()); shown)
            firsts.emplace(device, firstOfNested(*shown));
    for (Mount* const mount : all()) {
        if (mount->kind.code != FSTYPE__PROC || mount->externalName)
            continue;
        if (!systems.contains(mount->device) && !isCriusProc(mount->device))
            fail(
                "{} is a part of a proc file system of which no mount shows the whole, so it isn't known which pid "
                "namespace it is of",
                mount->describe());
        if (const auto first = firsts.find(mount->device); first != firsts.end())
            mount->pidsOf = first->second;
    }
    std::vector<const MountTree*> trees;
    for (const Space& space : spaces_)
        trees.push_back(&space.mounts);
    requireExchangeable(trees);
}

}  // namespace criu::namespaces
