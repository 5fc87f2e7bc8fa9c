// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/service_range.hpp"

#include "criu/base/log.hpp"
#include "criu/base/trace.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/files/service_fds.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/scoped_rlimits.hpp"
#include "criu/engine/restore/task/task_directories.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/tty/outside_terminals.hpp"

namespace criu::engine {

ServiceFds reserveServiceFds(PlannedRestore& planned, LazyRestore* lazy, ScopedRlimits& limits) {
    std::size_t more = planned.devices.descriptors() + planned.segments.count() +
                       (lazy != nullptr ? lazy->descriptors() : 0) + ThreadDirectories::descriptors(planned.tree());
    for (const auto& kind : planned.namespaces)
        more += kind->descriptors();
    const ServiceFds service =
        planned.files.chooseServiceFds(more, [&limits](std::size_t count) { return limits.makeRoomForFiles(count); });
    kernel::FdStore& store = planned.store;
    store.reserve(service.first, service.last);
    const auto inherited = [&store](kernel::FdKey key) {
        return [&store, key](UniqueFd fd) { return store.inherit(key, std::move(fd)); };
    };
    planned.moveImages(inherited(kernel::FdKey::Images));
    planned.log().move(inherited(kernel::FdKey::Log));
    planned.log().trace().move(inherited(kernel::FdKey::Log));
    if (lazy != nullptr)
        lazy->share(store);
    planned.joined.inherit(store);
    planned.files.takeInherited(store);
    planned.devices.share(store);
    planned.files.terminals().open(planned.options(), inherited(kernel::FdKey::Terminal));
    return service;
}

}  // namespace criu::engine
