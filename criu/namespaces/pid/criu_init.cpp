// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/pid/criu_init.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "criu/base/names.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/pie/namespace_init.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceIds;
using kernel::NamespaceKind;

bool isFirstProcess(const kernel::TaskStatus& status) {
    return status.nsPid.size() > 1 && status.innermostPid() == 1 && status.uid.effective == ::geteuid();
}

/// Returns true if a process has the name and title of the namespace init of restore --new-pidns. The caller must check
/// the user, because any user can start a process with this name and title.
bool isCriusInit(const kernel::ProcPid& process, const kernel::TaskStatus& status) {
    return status.name == pie::kNamespaceInitName &&
           std::string_view(process.readFile("cmdline")).starts_with(pie::kNamespaceInitTitle);
}

/// Returns true if a link in /proc/PID leads to the same file as the link of this process.
bool isSame(const kernel::ProcPid& process, const char* link) {
    struct stat theirs {};
    struct stat own {};
    return ::fstatat(process.fd(), link, &theirs, 0) == 0 &&
           ::fstatat(kernel::ProcDir().self().fd(), link, &own, 0) == 0 && Inode::of(theirs) == Inode::of(own);
}

/// Returns true for the criu restore that criu-ns has started as the first process of a pid namespace. It has the same
/// root directory as this criu. A container in which criu restores a tree has a different root directory.
bool isRestore(const kernel::ProcPid& process) {
    return isSame(process, "exe") && isSame(process, "root");
}

}  // namespace

bool treatAsCriuNamespaces(HostPid parent, const NamespaceIds& tree, NamespaceIds& criu) {
    if (tree.of(NamespaceKind::Pid) == criu.of(NamespaceKind::Pid) || !parent)
        return false;
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    const kernel::ProcPid init = proc.open(parent.value);
    const kernel::TaskStatus status = kernel::readStatus(init, buffer);
    if (!isFirstProcess(status) || !(isCriusInit(init, status) || isRestore(init)) ||
        kernel::readNamespaceId(init, NamespaceKind::Pid) != tree.of(NamespaceKind::Pid))
        return false;
    const auto count = [&](NamespaceKind kind) { criu.kinds[static_cast<std::size_t>(kind)] = tree.of(kind); };
    count(NamespaceKind::Pid);
    const auto mounts = tree.of(NamespaceKind::Mount);
    if (mounts == criu.of(NamespaceKind::Mount) || mounts != kernel::readNamespaceId(init, NamespaceKind::Mount) ||
        !isSame(init, "root"))
        return false;
    count(NamespaceKind::Mount);
    return true;
}

}  // namespace criu::namespaces
