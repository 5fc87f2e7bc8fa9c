// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/copied_mounts_dump.hpp"

#include <fcntl.h>

#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::namespaces {
namespace {

/// Properties that are equal for a mount and its copy in another namespace.
using MountPlace = std::tuple<std::string, std::uint32_t, std::uint32_t, std::string>;

MountPlace placeOf(const kernel::MountInfo& mount) {
    return {mount.mountPoint, mount.devMajor, mount.devMinor, mount.root};
}

void warnOfOthers(const kernel::MountTable& copy, Log& log) {
    kernel::ProcBuffer buffer;
    std::set<MountPlace> outside;
    const kernel::MountTable own = kernel::readMountInfo(kernel::ProcDir().self(), buffer);
    for (const kernel::MountInfo& mount : own.all())
        outside.insert(placeOf(mount));
    for (const kernel::MountInfo& mount : copy.all())
        if (!outside.contains(placeOf(mount)) && !(mount.fsType == "proc" && mount.mountPoint == "/proc"))
            log.warn("The mount {} ({}) of the tree isn't among those of criu, and isn't dumped", mount.mountPoint,
                     mount.fsType);
}

}  // namespace

files::TreeRoot rootOfCopiedMounts(const kernel::ProcPid& process, Log& log) {
    const UniqueFd space = process.open("ns/mnt", O_RDONLY);
    files::TreeRoot::Space copy{UniqueFd(), kernel::MountTable({})};
    const kernel::ProcDir proc;
    kernel::runInMountNamespace(space.get(), [&] {
        copy.root.reset(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root of the mount namespace"));
        copy.mounts = kernel::MountTable(kernel::parseMountInfo(proc.readFile("thread-self/mountinfo")));
    });
    warnOfOthers(copy.mounts, log);
    std::vector<files::TreeRoot::Space> spaces;
    spaces.push_back(std::move(copy));
    return {std::move(spaces), {}, files::TreeRoot::Mounts::Copied};
}

}  // namespace criu::namespaces
