// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/birth/pid_ns_for_children.hpp"

#include <sched.h>

#include "criu/base/error.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/model/nested_pids.hpp"

namespace criu::engine {

PidNsForChildren::PidNsForChildren(const RestoreControl& control, const model::NestedPidNs& space,
                                   const model::NestedPidNs* own)
    : home_(kernel::openOwnNamespace(kernel::NamespaceKind::Pid)) {
    const TreePid first = model::NestedPids::firstOf(space);
    control.awaitCreated(first);
    const kernel::PidFd there(model::NestedPids::numberIn(own, first));
    sys(::setns(there.fd(), CLONE_NEWPID), "have a child in the pid namespace of process {}", first);
}

PidNsForChildren::~PidNsForChildren() {
    ::setns(home_.get(), CLONE_NEWPID);  // always allowed for the process' own namespace
}

}  // namespace criu::engine
