// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/pid/criu_init.hpp"

#include <unistd.h>

#include <string_view>

#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/pie/namespace_init.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceIds;
using kernel::NamespaceKind;

/// Of somebody else's process the same name and words mean nothing.
bool isCriusInit(const kernel::ProcPid& process, const kernel::TaskStatus& status) {
    return status.nsPid.size() > 1 && status.innermostPid() == 1 && status.name == pie::kNamespaceInitName &&
           status.uid.effective == ::geteuid() &&
           std::string_view(process.readFile("cmdline")).starts_with(pie::kNamespaceInitTitle);
}

}  // namespace

bool treatAsCriuNamespaces(HostPid parent, const NamespaceIds& tree, NamespaceIds& criu) {
    if (tree.of(NamespaceKind::Pid) == criu.of(NamespaceKind::Pid) || !parent)
        return false;
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    const kernel::ProcPid init = proc.open(parent.value);
    if (!isCriusInit(init, kernel::readStatus(init, buffer)) ||
        kernel::readNamespaceId(init, NamespaceKind::Pid) != tree.of(NamespaceKind::Pid))
        return false;
    const auto count = [&](NamespaceKind kind) { criu.kinds[static_cast<std::size_t>(kind)] = tree.of(kind); };
    count(NamespaceKind::Pid);
    const auto mounts = tree.of(NamespaceKind::Mount);
    if (mounts == criu.of(NamespaceKind::Mount) || mounts != kernel::readNamespaceId(init, NamespaceKind::Mount))
        return false;
    count(NamespaceKind::Mount);
    return true;
}

}  // namespace criu::namespaces
