// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/dump_captured.hpp"
#include "criu/engine/dump_complete.hpp"
#include "criu/engine/dump_examined.hpp"
#include "criu/engine/dump_frozen.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/namespace_kinds.hpp"
#include "criu/kernel/stat.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// Whoever dumps must not stand still. Clients look for the end of the message.
void refuseOwnTree(HostPid root) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    for (HostPid self(::getpid()); self.value > 0;) {
        const kernel::TaskStat stat = kernel::readStat(proc.open(self.value), buffer);
        if (self == root)
            fail("process {} ({}) is {}: The criu itself is within dumped tree", root, stat.comm,
                 root.value == ::getpid() ? "criu" : "an ancestor of criu");
        self = HostPid(stat.ppid);
    }
}

int dumpGuarded(Run& run, Guardian& guardian) {
    loadLibraries(guardian.root().ids, guardian.root().home);
    FrozenPhase frozen(run, guardian);
    ExaminedPhase examined(frozen);
    CapturedPhase captured(examined);
    CompletePhase complete(captured);
    return complete.conclude();
}

}  // namespace

int dump(Run& run) {
    refuseOwnTree(*run.options.tree);
    const GuardedRoot root(*run.options.tree);
    run.listeners.setRoot(*run.options.tree);
    return runGuarded(run, root, [&run](Guardian& guardian) {
        try {
            return dumpGuarded(run, guardian);
        } catch (const std::exception& error) {
            run.log.failure(error);
            guardian.report(run.log.cause());
            return 1;
        }
    });
}

}  // namespace criu::engine
