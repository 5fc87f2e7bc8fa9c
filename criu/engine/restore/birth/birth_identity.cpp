// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/birth/birth_identity.hpp"

#include <unistd.h>

#include "criu/engine/restore/birth/restore_start.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/model/id_map.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::engine {

void withBirthGroups(const RestoreRun& run, const std::function<void()>& create) {
    const model::IdMap& ids = run.surroundings.ids;
    if (ids.deniesSetgroups())
        kernel::withIdentity({::geteuid(), ::getegid(), task::outerGroups(run.start.credentials.groups, ids)}, create);
    else
        create();
}

}  // namespace criu::engine
