// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/service_range.hpp"

#include <set>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/trace.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/restore/files/service_fds.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/scoped_rlimits.hpp"
#include "criu/engine/restore/task/task_directories.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {
namespace {

/// Returns the maximum number of service descriptors. `more`: number of descriptors besides those of files.
std::size_t maxServiceFds(const PlannedRestore& planned, std::size_t more) {
    const RestoredFiles& files = planned.files;
    std::size_t shared = planned.options().inheritFds.size() + files.remaps().count();
    for (std::size_t at = 0; at < files.count(); ++at)
        shared += files.plan().of(at).stage == model::FileStage::BeforeChildren ? files.at(at).ids.size() : 0;
    return kServiceRoom + shared + files.inFlight() + more + planned.content.files.size() / 8;
}

/// Chooses numbers above or between those of the tree. Raises the limit of open files (RLIMIT_NOFILE) to that of a
/// range above all, if criu may.
ServiceFds chooseServiceFds(const PlannedRestore& planned, std::size_t more, ScopedRlimits& limits) {
    std::set<int> used;
    for (const auto& [id, table] : planned.tree().fdTables)
        for (const model::FdSlot& slot : table->slots)
            used.insert(slot.fd);
    const int highest = used.empty() ? -1 : *used.rbegin();
    const auto wanted = static_cast<int>(maxServiceFds(planned, more));
    const int limit = limits.makeRoomForFiles(static_cast<std::size_t>(highest + 1 + wanted));
    if (highest >= limit)
        fail("a process has fd {}, but at most {} descriptors are allowed here", highest, limit);
    if (const ServiceFds above{highest + 1, limit - 1}; above.room() >= wanted)
        return above;
    const ServiceFds widest = widestRange(used, limit);
    // The wanted number is an upper bound; usually fewer descriptors are open at the same time.
    if (widest.room() >= kServiceRoom)
        return widest;
    Error error(0, fmt::format("{} free descriptor numbers in a row are needed beside those of the tree", wanted));
    error.addHint(fmt::format("raise the hard limit of open files (ulimit -Hn) above {}", highest + wanted));
    throw error;
}

}  // namespace

ServiceFds reserveServiceFds(PlannedRestore& planned, LazyRestore* lazy, ScopedRlimits& limits) {
    std::size_t more = planned.devices.descriptors() + planned.segments.count() +
                       (lazy != nullptr ? lazy->descriptors() : 0) + ThreadDirectories::descriptors(planned.tree());
    for (const auto& kind : planned.namespaces)
        more += kind->descriptors();
    const ServiceFds service = chooseServiceFds(planned, more, limits);
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
    planned.files.inheritedFds().take(store);
    planned.devices.share(store);
    planned.files.terminals().open(planned.options(), inherited(kernel::FdKey::Terminal));
    return service;
}

}  // namespace criu::engine
