// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/fuse_guarded_run.hpp"

#include <compel/tracing_thread.hpp>

#include <cerrno>

#include "criu/engine/client_rules.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/filesystem_watchdog.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/rollback.hpp"
#include "criu/engine/userspace_filesystems.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

int runFuseGuarded(FrozenPhase& frozen, const std::function<int(const GuardedFiles&)>& work) {
    requireClientTree(frozen.client(), frozen.tree());
    const UserspaceFilesystems servers(frozen.tree());
    Rollback rollback;
    if (!servers.used())
        return work({{}, rollback});
    const RollbackStep group(rollback, [&frozen] { frozen.tree().restoreGroup(); });
    const FilesystemWatchdog watch(frozen.options().timeout, frozen.stop(), frozen.log(), servers.names(),
                                   [&](const std::string& why) {
                                       frozen.guardian().report({ETIMEDOUT, why});
                                       frozen.guardian().abandon();
                                       rollback.run(frozen.log());
                                   });
    int status = 1;
    compel::workBesideTracer([&] {
        servers.requireResponsive();
        status = work({servers.devices(), rollback});
    });
    return status;
}

}  // namespace criu::engine
