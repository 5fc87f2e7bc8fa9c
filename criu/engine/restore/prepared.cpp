// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/prepared.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/trace.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/restore/birth/restore_start.hpp"
#include "criu/engine/restore/files/missing_files.hpp"
#include "criu/engine/restore/memory_provider.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/task/task_directories.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/mm/huge_pages.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/memory/shmem/sysv_shm.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

constexpr std::size_t kText = 4096;  // maximum length in bytes of the child's error message

/// Waits for the end of a child and returns its wait status. If the user stops criu, kills the child and throws Error.
int awaitEnd(pid_t child, StopRequest& stop) {
    int status = 0;
    try {
        const kernel::PidFd process(child);
        (void)waitReady(process.fd(), POLLIN, stop, std::nullopt);
    } catch (const Error&) {
        ::kill(child, SIGKILL);
        (void)::waitpid(child, &status, __WALL);
        throw;
    }
    sys(::waitpid(child, &status, __WALL), "wait for process {}", child);
    return status;
}

/// Runs `body` in a child that criu moves into the cgroups of the process `pid`. Throws Error with the child's error
/// text, or if the child was killed.
void runInGroupsOf(PlannedRestore& planned, TreePid pid, const std::function<void()>& body) {
    const std::uint32_t from = (*planned.content.inventory)->root_cg_set;
    const std::uint32_t set = planned.cgroupSetOf(pid);
    const Mapping said = Mapping::anonymous(kText, MAP_SHARED);
    const pid_t parent = ::getpid();
    const pid_t child = sys(::fork(), "create a process to enter control groups");
    if (child == 0) {
        int code = 1;
        try {
            const NoOuterContexts noContexts;  // the parent adds its error contexts to the child's text
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() == parent) {
                if (set != 0)
                    planned.cgroups.enter(set, from);
                body();
                code = 0;
            }
        } catch (const std::exception& error) {
            std::strncpy(said.as<char>(), error.what(), kText - 1);
        }
        ::_exit(code);
    }
    const int status = awaitEnd(child, planned.run.stop);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    if (*said.as<char>() == '\0')
        fail("a process that was to enter the control groups of process {} has ended", pid);
    fail("in the control groups of process {}: {}", pid, said.as<char>());
}

/// Returns the maximum number of service descriptors that the restore needs. `more`: number of service descriptors in
/// addition to those for restored files.
std::size_t maxServiceFds(const PlannedRestore& planned, std::size_t more) {
    const RestoredFiles& files = planned.files;
    std::size_t shared = planned.options().inheritFds.size() + files.remaps().count();
    for (std::size_t at = 0; at < files.count(); ++at)
        shared += files.plan().of(at).stage == model::FileStage::BeforeChildren ? files.at(at).ids.size() : 0;
    return kServiceRoom + shared + files.inFlight() + more + planned.content.files.size() / 8;
}

/// Chooses a range of descriptor numbers that no process of the tree uses. Prefers numbers above all numbers of the
/// tree, and for this raises the limit of open files (RLIMIT_NOFILE) if criu may.
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
    // `wanted` is an upper bound, so a smaller range is usually enough: seldom are all descriptors open at the same
    // time.
    if (widest.room() >= kServiceRoom)
        return widest;
    Error error(0, fmt::format("{} free descriptor numbers in a row are needed beside those of the tree", wanted));
    error.addHint(fmt::format("raise the hard limit of open files (ulimit -Hn) above {}", highest + wanted));
    throw error;
}

/// Chooses the range of service descriptors, and moves all open descriptors of criu there. Raises the limit of open
/// files if it is too low and criu may. `lazy` may be null. Throws Error if no range is free.
ServiceFds reserveServiceFds(PlannedRestore& planned, LazyRestore* lazy, ScopedRlimits& limits) {
    std::size_t more = planned.devices.descriptors() + planned.segments.count() +
                       (lazy != nullptr ? lazy->descriptors() : 0) + ThreadDirectories::descriptors(planned.tree());
    for (const auto& kind : planned.namespaces)
        more += kind->descriptors();
    const ServiceFds service = chooseServiceFds(planned, more, limits);
    kernel::FdStore& store = planned.store;
    store.reserve(service.first, service.last);
    const auto inherited = [&store](kernel::FdKey key) {
        return [&store, key](UniqueFd&& fd) { return store.inherit(key, std::move(fd)); };
    };
    planned.moveImages(inherited(kernel::FdKey::Images));
    planned.log().move(inherited(kernel::FdKey::Log));
    planned.log().trace().move(inherited(kernel::FdKey::Log));
    planned.log().journal().move(inherited(kernel::FdKey::Log));
    if (lazy != nullptr)
        lazy->share(store);
    planned.joined.inherit(store);
    planned.files.inheritedFds().take(store);
    planned.devices.share(store);
    if (planned.provider)
        planned.provider->share(store);
    planned.files.terminals().open(planned.options(), inherited(kernel::FdKey::Terminal));
    return service;
}

/// Connects to the lazy-pages daemon (--lazy-pages), or to the shared-pages daemon (--map-pages). Without either
/// option, returns null, or throws Error if the images lack pages. Throws Error if the connection fails.
std::shared_ptr<LazyRestore> startLazyRestore(const PlannedRestore& plan) {
    const bool ownUsers = plan.nsContext.ids.isOwnNamespace();
    if (plan.options().lazyPages)
        return std::make_shared<LazyRestore>(plan.content, plan.options(), ownUsers, plan.run.stop, plan.log());
    if (plan.options().mapPages)
        return std::make_shared<LazyRestore>(plan.content, plan.images, plan.options(), ownUsers, plan.run.stop,
                                             plan.log());
    requireAllPages(plan.content);
    return nullptr;
}

}  // namespace

PreparedRestore::PreparedRestore(PlannedRestore& plan)
    : planned(plan),
      lazy(startLazyRestore(plan)),
      limits(plan.tree(), plan.nsContext.ids.isOwnNamespace()),
      service(reserveServiceFds(plan, lazy.get(), limits)),
      control(static_cast<std::uint32_t>(plan.births.all().size())),
      systemV(std::make_unique<memory::SysvShmRestore>(plan.log())),
      start(std::make_unique<RestoreStart>(plan.content, plan.nsContext, plan.options(), limits.before())),
      run{plan.options(),
          plan.log(),
          plan.run.stop,
          plan.images,
          plan.content,
          plan.births,
          plan.files,
          plan.segments,
          plan.cgroups,
          plan.namespaces,
          plan.nsContext,
          control,
          service,
          *start,
          *start->mappings,
          lazy.get(),
          kernel::allowedMappings(),
          kernel::smallestHugePage()} {
    control.inherit(plan.store);
    if (plan.options().notifyMounts)
        plan.nsContext.mountsMade = [this] { control.noteMountsMade(); };
    plan.run.listeners.require(Stage::PreRestore);
    makeShared();
}

void PreparedRestore::makeShared() {
    planned.log().stage("deleted files and shared memory");
    kernel::FdStore& store = planned.store;
    const namespaces::RestoreNsContext& nsContext = planned.nsContext;
    planned.files.noteLinks();
    requireFiles(planned);
    for (const auto& kind : planned.namespaces)
        kind->prepare(store, [this](std::string_view name) {
            planned.files.inheritedFds().noteUsedName(name);
            return planned.files.inheritedFds().find(name);
        });
    planned.files.inheritedFds().warnOfUnknownNames(planned.content, planned.log());
    if (planned.options().root && !nsContext.makesMounts)
        planned.log().warn("--root has no effect: the images have no mount namespace");
    if (nsContext.usernsd != nullptr) {
        planned.images.setUsernsd(*nsContext.usernsd);
        planned.files.setUsernsd(*nsContext.usernsd);
    }
    if (!nsContext.ownPaths)
        planned.files.createDeleted(nsContext.ids, store);
    if (planned.provider)
        planned.provider->askForMemory(planned.content, store);
    planned.segments.create(nsContext.ids, store, planned.checkStop, [this](std::uint64_t shmid, std::uint64_t size) {
        return planned.provider ? planned.provider->shared(shmid, size) : UniqueFd();
    });
    if (planned.provider)
        planned.provider->awaitMemory(planned.content, store);
    if (nsContext.systemV != 0)
        systemV->create(planned.images, planned.pages, nsContext.systemV, nsContext.ids, planned.checkStop);
    planned.cgroups.create(store);
    if (nsContext.ids.isOwnNamespace())
        planned.cgroups.openCgroupProcs(store);
    // Lets device subsystems examine which devices each cgroup permits. Possible only now, because all cgroups of the
    // tree exist.
    planned.devices.visitGroups(
        {[this](TreePid pid) { return planned.cgroupSetOf(pid); },
         [this](TreePid pid, const std::function<void()>& work) { runInGroupsOf(planned, pid, work); }});
}

PreparedRestore::~PreparedRestore() = default;

void PreparedRestore::commit() noexcept {
    for (const auto& kind : planned.namespaces)
        kind->commit();
    systemV->commit();
    planned.cgroups.commit();
    limits.putBack();
}

}  // namespace criu::engine
