// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/thread_namespaces.hpp"

#include <string>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

[[noreturn]] void refuse(std::string text) {
    Error error(0, std::move(text));
    error.addHint("a process can be there, in the place of such a thread");
    throw error;
}

using kernel::NamespaceKind;

void requireTogether(const SeenProcess& process, HostPid thread) {
    const kernel::NamespaceIds ids = kernel::readThreadNamespaceIds(process.dir, thread.value, process.ids);
    if (ids == process.ids)
        return;
    for (std::size_t kind = 0; kind < kernel::kNamespaceKinds; ++kind)
        if (ids.kinds[kind] != process.ids.kinds[kind])
            refuse(fmt::format("thread {} of {} is in another {} namespace than the process, which can't be dumped",
                               thread, process.describe(), kernel::namespaceName(static_cast<NamespaceKind>(kind))));
    const bool pids = ids.pidForChildren != process.ids.pidForChildren;
    refuse(fmt::format(
        "thread {} of {} creates its children in another {} namespace than the process, which can't be dumped", thread,
        process.describe(), kernel::namespaceName(pids ? NamespaceKind::Pid : NamespaceKind::Time)));
}

}  // namespace

void requireThreadsInProcessNs(const SeenProcess& process) {
    for (const HostPid thread : process.threads)
        if (thread != process.pid)
            requireTogether(process, thread);
}

}  // namespace criu::namespaces
