// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>

#include "criu/base/error.hpp"
#include "criu/engine/action_scripts.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/file_plan.hpp"
#include "criu/engine/pid_file.hpp"
#include "criu/engine/pid_map.hpp"
#include "criu/engine/restore_control.hpp"
#include "criu/engine/restore_images.hpp"
#include "criu/engine/restore_resume.hpp"
#include "criu/engine/restore_task.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/kernel/features.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/stat.hpp"
#include "criu/memory/sysv_shm.hpp"
#include "criu/task/cpu_info.hpp"
#include "criu/task/registers.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {
namespace {

using model::BirthFacts;
using model::BirthPlan;

/// How often the master looks whether processes are still alive while it waits for them.
constexpr unsigned kLookEvery = 200;

BirthPlan planBirths(const model::ProcessTree& tree, const model::Options& options) {
    const pid_t ownSession = ::getsid(0);
    const pid_t ownGroup = ::getpgid(0);
    const pid_t oldSession = tree.root().sid;
    const pid_t oldGroup = tree.root().pgid;
    const bool adopt = oldSession != tree.root().pid;
    if (adopt && !options.shellJob) {
        Error error(0, fmt::format("process {} doesn't lead its session ({})", tree.root().pid, oldSession));
        error.addHint("restore with --shell-job to put the tree into the session of criu");
        throw error;
    }
    std::vector<BirthFacts> facts;
    for (const auto& task : tree.tasks) {
        BirthFacts fact{task->pid, task->ppid, task->pgid, task->sid};
        if (adopt && fact.sid == oldSession)
            fact.sid = ownSession;
        if (adopt && fact.pgid == oldGroup && oldGroup != tree.root().pid)
            fact.pgid = ownGroup;
        facts.push_back(fact);
    }
    return BirthPlan::make(facts, ownSession);
}

bool hasPosixTimers(const model::ProcessTree& tree) {
    return std::any_of(tree.tasks.begin(), tree.tasks.end(), [](const auto& task) {
        const TaskTimersEntry* const timers = task->core().tc->timers;
        return timers != nullptr && timers->n_posix != 0;
    });
}

/// What only trees with 32-bit tasks need. Throws Error if this kernel can't run them.
std::optional<memory::CompatVdso> vdsoForCompat(const model::ProcessTree& tree) {
    const bool any = std::any_of(tree.tasks.begin(), tree.tasks.end(),
                                 [](const auto& task) { return task->alive() && task::isCompat(task->core()); });
    if (!any)
        return std::nullopt;
    kernel::Features().require(kernel::Feature::CompatTasks);
    return memory::CompatVdso::ofKernel();
}

/// How the dump has locked connections.
model::NetworkLock lockMethod(const InventoryEntry& inventory, const model::Options& options) {
    if (inventory.has_tcp_close != 0 && inventory.tcp_close != 0 && !options.tcpClose) {
        Error error(0, "the images were made with --tcp-close");
        error.addHint("restore with --tcp-close");
        throw error;
    }
    if (inventory.has_network_lock_method == 0)
        return model::NetworkLock::Iptables;  // before there was another way
    return sockets::networkLockMethod(inventory.network_lock_method);
}

/// What stands in the name of the table of rules.
std::string lockName(const RestoreImages& content) {
    const InventoryEntry& inventory = **content.inventory;
    return inventory.dump_criu_run_id != nullptr ? inventory.dump_criu_run_id : std::to_string(content.tree.root().pid);
}

kernel::ResourceLimits ownLimits() {
    kernel::ProcBuffer buffer;
    return kernel::readLimits(kernel::ProcDir().self(), buffer);
}

/// Processes that exist because of this restore: killed unless the restore has come through.
class NewProcesses {
public:
    /// `ownPids`: the tree is in a new pid namespace, which ends with its first process.
    NewProcesses(const RestoreControl& control, bool ownPids, Log& log)
        : control_(control), ownPids_(ownPids), log_(log) {
        // Whoever loses its parent while all are killed becomes our child, to be reaped here.
        ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
    ~NewProcesses() {
        if (kept_)
            return;
        killAll();
        ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    }
    NewProcesses(const NewProcesses&) = delete;
    NewProcesses& operator=(const NewProcesses&) = delete;

    void setRoot(pid_t pid) noexcept { root_ = pid; }

    /// They are on their own: orphans among them are init's.
    void keep() noexcept {
        kept_ = true;
        ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    }

private:
    /// One that has ended may be somebody else's to reap (--restore-sibling).
    static bool lives(pid_t pid) noexcept {
        try {
            kernel::ProcBuffer buffer;
            const kernel::TaskState state = kernel::readStat(kernel::ProcDir().open(pid), buffer).state;
            return state != kernel::TaskState::Zombie && state != kernel::TaskState::Dead;
        } catch (const std::exception&) {
            return false;
        }
    }

    void killAll() noexcept {
        // Creating goes on while we look: repeat until a pass finds nobody new and nobody left.
        // The end of a whole pid namespace takes as long as its memory takes to free.
        constexpr int kRounds = 2000;
        constexpr int kRoundsOfNamespace = 600'000;
        for (int round = 0; round < (ownPids_ ? kRoundsOfNamespace : kRounds); ++round) {
            bool left = false;
            for (const pid_t pid : ownPids_ ? std::vector<pid_t>(root_ != 0 ? 1 : 0, root_) : control_.created()) {
                left = (::kill(pid, SIGKILL) == 0 && lives(pid)) || left;
                ::waitpid(pid, nullptr, WNOHANG | __WALL);
            }
            while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0)
                left = true;
            if (!left)
                return;
            ::usleep(1000);
        }
        log_.warn("not all processes of the failed restore could be ended");
    }

    const RestoreControl& control_;
    bool ownPids_;
    pid_t root_ = 0;
    Log& log_;
    bool kept_ = false;
};

/// Throws if a process that should be on its way has died.
void checkAlive(const model::ProcessTree& tree, const RestoreControl& control, PidMap& pids) {
    const std::vector<pid_t> created = control.created();  // who is created later may not be in the map
    pids.refresh();
    kernel::ProcBuffer buffer;
    const kernel::ProcDir proc;
    for (const auto& task : tree.tasks) {
        if (!task->alive() || std::find(created.begin(), created.end(), task->pid) == created.end())
            continue;
        try {
            std::optional<pid_t> pid = pids.tryOutside(task->pid);
            if (!pid) {
                pids.refreshByAll();
                pid = pids.tryOutside(task->pid);
            }
            if (!pid)
                fail("process {} ended while it was restored", task->pid);
            const kernel::TaskStat stat = kernel::readStat(proc.open(*pid), buffer);
            if (stat.state != kernel::TaskState::Zombie && stat.state != kernel::TaskState::Dead)
                continue;
            // A crash is told by the exit code, which is a wait(2) status.
            if (WIFSIGNALED(stat.exitCode))
                fail("process {} was killed by signal {} ({}) while it was restored", task->pid,
                     WTERMSIG(stat.exitCode), ::strsignal(WTERMSIG(stat.exitCode)));
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
        }
        fail("process {} ended while it was restored", task->pid);
    }
}

void awaitParked(const RestoreControl& control, const model::ProcessTree& tree, std::uint32_t alive, PidMap& pids,
                 StopRequest& stop) {
    for (;;) {
        switch (control.await(alive, kLookEvery)) {
            case RestoreControl::Outcome::Parked:
                return;
            case RestoreControl::Outcome::Failed:
                fail("{}", control.failureText());
            case RestoreControl::Outcome::Idle:
                break;
        }
        stop.throwIfRequested();
        checkAlive(tree, control, pids);
    }
}

int awaitRoot(pid_t root, StopRequest& stop, Log& log) {
    int status = 0;
    for (;;) {
        const pid_t ended = ::waitpid(root, &status, WNOHANG | __WALL);
        if (ended < 0)
            failErrno("wait for the restored process {}", root);
        if (ended == root)
            break;
        siginfo_t info{};
        timespec limit{0, 50'000'000};
        sigset_t child;
        ::sigemptyset(&child);
        ::sigaddset(&child, SIGCHLD);
        ::sigtimedwait(&child, &info, &limit);
        if (stop.requested())
            return 1;
    }
    log.info("Restored process {} has ended with status {:#x}", root, status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::size_t countAlive(const model::ProcessTree& tree) {
    return static_cast<std::size_t>(
        std::count_if(tree.tasks.begin(), tree.tasks.end(), [](const auto& task) { return task->alive(); }));
}

/// The time in which the network is locked. What a restore has locked is unlocked where it is, also after a failure.
class LockedNetwork {
public:
    /// `name`: of locks other than `lock`, which is that of the root's namespace.
    LockedNetwork(sockets::NetworkLock& lock, const std::string& name, const namespaces::NetworkRestore& space,
                  Log& log)
        : lock_(lock), space_(space) {
        for (std::size_t i = 0; i < space.others(); ++i)
            others_.push_back(std::make_unique<sockets::NetworkLock>(lock.method(), name, log));
    }
    ~LockedNetwork() {
        try {
            space_.inside([this] { lock_.release(); });
            space_.insideOthers([this](std::size_t index) { others_[index]->release(); });
        } catch (const std::exception&) {  // the namespace can't be entered: it is gone
        }
    }
    /// The calling thread is in one of the others.
    void lockOther(std::size_t index) { others_[index]->ensureNamespace(); }
    /// That of the root's namespace.
    void lock(FilePlan& files) {
        space_.inside([&] {
            if (space_.wasOwn())
                lock_.ensureNamespace();
            files.begin();
        });
    }
    /// All but that of the root's namespace.
    void unlockOthers() {
        space_.insideOthers([this](std::size_t index) { others_[index]->unlock(); });
    }
    LockedNetwork(const LockedNetwork&) = delete;
    LockedNetwork& operator=(const LockedNetwork&) = delete;

private:
    sockets::NetworkLock& lock_;
    const namespaces::NetworkRestore& space_;
    std::vector<std::unique_ptr<sockets::NetworkLock>> others_;
};

/// One restore, stage by stage. Members are in the order in which they come to exist; what a failed restore has made is
/// taken back in the reverse order.
class RestoreSession {
public:
    explicit RestoreSession(Run& run)
        : run_(run),
          options_(run.options),
          log_(run.log),
          images_(std::move(run.imagesDir), run.options.imagesDir),
          content_(readImages(images_, log_)) {}

    int run() {
        if (options_.cpuCaps.has(model::CpuCap::Image))
            task::checkCpu(images_, options_.cpuCaps);
        requireLabels();
        plan();
        prepare();
        makeProcesses();
        complete();
        return letGo();
    }

private:
    [[nodiscard]] const model::ProcessTree& tree() const { return content_.tree; }
    [[nodiscard]] const InventoryEntry& inventory() const { return **content_.inventory; }
    [[nodiscard]] const TaskKobjIdsEntry* idsOfTree() const {
        return tree().root().ids ? tree().root().ids->get() : nullptr;
    }

    [[nodiscard]] namespaces::OwnNamespaces own() const { return {inventory().root_ids, idsOfTree()}; }

    void requireLabels() const {
        const std::optional<std::string> own = task::securityLabel(kernel::ProcDir().self());
        for (const auto& task : tree().tasks)
            for (const model::Thread& thread : task->threads)
                if (const ThreadCoreEntry* const core = (*thread.core)->thread_core;
                    task->alive() && core != nullptr && core->creds != nullptr)
                    inContext([&] { return fmt::format("process {}", task->pid); },
                              [&] { task::requireLabel(*core->creds, own); });
    }

    /// Everything is read and checked; nothing is made.
    void plan() {
        log_.info("Stage: plan");
        births_.emplace(planBirths(tree(), options_));
        devices_.emplace(run_.devices, inventory(), options_, log_, images_, run_.stop);
        network_.emplace(lockMethod(inventory(), options_), lockName(content_), log_);
        files_.emplace(options_, log_, images_, content_, *births_, segments_, *network_, *devices_);
        files_->make();
        joined_.emplace(options_);
        planUsers();
        networkSpace_.emplace(options_, *joined_, images_, inventory().root_ids, idsOfTree(), content_.otherNetworks,
                              log_);
        namespaces_.emplace(*joined_, images_, inventory().root_ids, idsOfTree(), ids_, log_);
        std::vector<const TaskKobjIdsEntry*> spaces;
        for (const auto& task : tree().tasks)
            if (task->ids)
                spaces.push_back(task->ids->get());
        mounts_.emplace(options_, images_, inventory().root_ids, spaces, log_);
        segments_.collect(tree(), images_, [this](FileId id) -> std::uint64_t {
            const FileEntry& entry = files_->entry(id);
            return entry.memfd != nullptr ? entry.memfd->inode_id : 0;
        });
        cgroups_.emplace(options_, log_, images_, inventory().root_cg_set);
        for (const auto& task : tree().tasks)
            for (const model::Thread& thread : task->threads)
                cgroups_->require(cgroupSetOf(**thread.core));
    }

    void planUsers() {
        if (!own().has(kernel::NamespaceKind::User))
            return;
        if (!own().has(kernel::NamespaceKind::Pid))
            fail(
                "the tree had a user namespace of its own, but no pid namespace, without which its pids can't be "
                "restored there");
        ids_ = model::IdMap::ofImage(images_, idsOfTree()->user_ns_id);
        for (const kernel::NamespaceKind kind : namespaces::kImageOrder)
            if (joined_->has(kind))
                fail(
                    "--join-ns: a tree with a user namespace of its own can't be put into a {} namespace from outside "
                    "yet",
                    kernel::namespaceName(kind));
        if (ids_.firstUid() == model::IdMap::kNone || ids_.firstGid() == model::IdMap::kNone)
            fail("{} names no users or no groups", imageName(ImageKind::Userns, idsOfTree()->user_ns_id));
    }

    /// What exists outside of processes.
    void prepare() {
        limitsBefore_ = ownLimits();
        if (ids_.isOwnNamespace())
            raiseLimits();
        const ServiceFds service = files_->chooseServiceFds(kernel::raiseFileLimit(), networkSpace_->descriptors());
        const auto lift = [service](UniqueFd fd) { return service.lift(std::move(fd)); };
        images_.move(lift);
        log_.move(lift);
        joined_->move(lift);
        files_->takeInherited(service);
        devices_->share(lift);
        files_->takeTerminal(service);
        control_.emplace(static_cast<std::uint32_t>(births_->all().size()));
        control_->move(lift);
        if (ids_.isOwnNamespace()) {
            help_.emplace();
            help_->move(lift);
            images_.setHelp(*help_);
            files_->setHelp(*help_);
        }
        state_.emplace(
            RestoreRun{options_,
                       log_,
                       images_,
                       content_,
                       *births_,
                       *files_,
                       segments_,
                       *cgroups_,
                       ids_,
                       own(),
                       *networkSpace_,
                       *namespaces_,
                       *mounts_,
                       *control_,
                       service,
                       ids_.isOwnNamespace() ? task::Credentials::ofFirst(ids_) : task::Credentials::ofSelf(),
                       task::Scheduling::of(0),
                       ownLimits(),
                       hasPosixTimers(tree()) && kernel::Features().has(kernel::Feature::TimerRestoreIds),
                       vdsoForCompat(tree())});

        scripts_.emplace(options_.actionScripts, images_.fd(), run_.stop, log_);
        scripts_->require(Stage::PreRestore);

        log_.info("Stage: deleted files and shared memory");
        files_->remaps().noteLinks(*files_);
        if (mounts_->wasOwn())
            mounts_->prepare(images_, lift);
        else
            files_->remaps().create(*files_, ids_, lift);
        segments_.create(images_, ids_, lift);
        sysvShm_.emplace(log_);
        const TaskKobjIdsEntry* const ids = idsOfTree();
        if (ids != nullptr && ids->has_ipc_ns_id != 0 && namespaces_->sharesIpc())
            sysvShm_->create(images_, ids->ipc_ns_id, ids_);
        cgroups_->create(lift);
        if (ids_.isOwnNamespace())
            cgroups_->openEntrances(lift);
        networkSpace_->open([this](std::string_view name) { return files_->inherited(name); }, lift);
    }

    /// Processes in a user namespace can't raise their limits: they are born with the highest that any of them had.
    /// And they may lock no more memory than these limits say while they are restored.
    void raiseLimits() {
        kernel::ResourceLimits wanted = limitsBefore_;
        for (const auto& task : tree().tasks) {
            const TaskCoreEntry* const core = task->core().tc;
            for (std::size_t i = 0; core->rlimits != nullptr && i < core->rlimits->n_rlimits && i < wanted.size(); ++i)
                wanted[i].rlim_max = std::max<rlim_t>(wanted[i].rlim_max, core->rlimits->rlimits[i]->max);
        }
        for (unsigned i = 0; i < wanted.size(); ++i)
            if (wanted[i].rlim_max != limitsBefore_[i].rlim_max &&
                ::setrlimit(static_cast<__rlimit_resource>(i), &wanted[i]) != 0)
                failErrno("raise own resource limit {} from {} to {}, which a process of the tree has", i,
                          limitsBefore_[i].rlim_max, wanted[i].rlim_max);
        rlimit locked{RLIM_INFINITY, RLIM_INFINITY};
        if (::setrlimit(RLIMIT_MEMLOCK, &locked) != 0) {
            locked = {wanted[RLIMIT_MEMLOCK].rlim_max, wanted[RLIMIT_MEMLOCK].rlim_max};
            ::setrlimit(RLIMIT_MEMLOCK, &locked);
        }
    }

    /// What is in the namespaces that the root was born in.
    void fillNamespaces() {
        log_.info("Stage: namespaces");
        const kernel::ProcPid root = kernel::ProcDir().open(root_);
        if (ids_.isOwnNamespace()) {
            root.write("uid_map", ids_.uidText());
            root.write("gid_map", ids_.gidText());
        }
        networkSpace_->fetchOthers(root);
        scripts_->require(Stage::SetupNamespaces);
        lockedNetwork_.emplace(*network_, lockName(content_), *networkSpace_, log_);
        networkSpace_->fill(root, images_, [this](std::size_t index) { lockedNetwork_->lockOther(index); });
        namespaces_->fill(root, images_);
        scripts_->require(Stage::PostSetupNamespaces);
        lockedNetwork_->lock(*files_);
    }

    /// All processes, up to where they wait for the last touches.
    void makeProcesses() {
        log_.info("Stage: processes");
        const bool ownPids = own().has(kernel::NamespaceKind::Pid);
        processes_.emplace(*control_, ownPids, log_);
        const Stopwatch watch(statistics_.forking);
        root_ = createRoot(*state_, options_.restoreSibling);
        processes_->setRoot(root_);
        scripts_->setRootPid(root_);
        if (ownPids)
            pids_ = PidMap(root_);
        fillNamespaces();
        if (help_)
            help_->serve();
        control_->openGate();
        devices_->forked();
        sharedBytes_ = segments_.fill(images_);
        awaitParked(*control_, tree(), static_cast<std::uint32_t>(countAlive(tree())), pids_, run_.stop);
        if (help_)
            help_->stop();
        pids_.refresh();
        namespaces_->finish(kernel::ProcDir().open(root_));
        if (run_.takeOrphanMaster)
            while (UniqueFd master = files_->handedOver())
                run_.takeOrphanMaster(std::move(master));
        segments_.finish();
        cgroups_->setProperties();
    }

    /// What only the master can do, from outside of the processes.
    void complete() {
        log_.info("Stage: registers");
        resumed_.emplace(*state_, pids_);
        scripts_->require(Stage::PostRestore);
        for (compel::FrozenProcess& process : resumed_->processes())
            devices_->resume(process);
        frozenGroups_.emplace(cgroups_->freeze());
        if (options_.pidFile)
            pidFile_.emplace(*options_.pidFile, root_);
        run_.stop.throwIfRequested();
        removeProc();
        // Last of what may fail: whoever talks to the tree must not meet one that is taken back.
        unlockNetwork();
        tell(Stage::PreResume);
    }

    void removeProc() {
        std::set<std::uint32_t> done;
        for (const auto& task : tree().tasks)
            if (task->alive() && task->ids && done.insert((*task->ids)->mnt_ns_id).second)
                mounts_->removeProc((*task->ids)->mnt_ns_id, pids_.outside(task->pid));
    }

    /// Of what can't be changed any more.
    void tell(Stage stage) noexcept {
        try {
            scripts_->run(stage);
        } catch (const std::exception& error) {
            log_.warn("{}", error.what());
        }
    }

    void unlockNetwork() {
        if (networkSpace_->wasOwn())
            tell(Stage::NetworkUnlock);
        lockedNetwork_->unlockOthers();
        networkSpace_->inside([this] {
            files_->finish(pids_);
            network_->unlock();
        });
    }

    /// From here on nothing may fail: first one goes, then they are on their own.
    int letGo() {
        devices_->finish();
        removeLinks();
        resumed_->letGo(options_.finalState == model::FinalState::Stopped);
        processes_->keep();
        networkSpace_->keep();
        if (pidFile_)
            pidFile_->keep();
        sysvShm_->keep();
        cgroups_->keep();
        frozenGroups_->keep();
        report();
        tell(Stage::PostResume);

        // Restored limits of criu itself matter for the command that --exec-cmd becomes.
        for (unsigned i = 0; i < limitsBefore_.size(); ++i)
            ::setrlimit(static_cast<__rlimit_resource>(i), &limitsBefore_[i]);
        if (options_.detached || !options_.execCommand.empty() || options_.finalState == model::FinalState::Stopped)
            return 0;
        return awaitRoot(root_, run_.stop, log_);
    }

    void removeLinks() noexcept {
        try {
            mounts_->inside(root_, [this] { files_->remaps().removeLinks(log_); });
        } catch (const std::exception& error) {
            log_.warn("{}", error.what());
        }
    }

    void report() {
        statistics_.restore =
            std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started_);
        statistics_.pagesRestored = control_->page().restoredPages + sharedBytes_ / kPageSize;
        statistics_.pagesCompared = control_->page().comparedPages;
        statistics_.pagesSkippedCow = control_->page().sharedPages;
        reportStatistics(statistics_, options_, log_);
        log_.info("Restore finished: {} processes run", countAlive(tree()));
    }

    Run& run_;
    const model::Options& options_;
    Log& log_;
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    RestoreStatistics statistics_;
    std::uint64_t sharedBytes_ = 0;
    kernel::ResourceLimits limitsBefore_{};
    pid_t root_ = 0;  ///< as criu calls it
    PidMap pids_;
    model::IdMap ids_;
    std::optional<kernel::OutsideHelp> help_;
    ImageDir images_;
    RestoreImages content_;
    std::optional<BirthPlan> births_;
    memory::Segments segments_;
    std::optional<device::RestoreDevices> devices_;
    std::optional<sockets::NetworkLock> network_;
    std::optional<FilePlan> files_;
    std::optional<namespaces::JoinedNamespaces> joined_;
    std::optional<namespaces::NetworkRestore> networkSpace_;
    std::optional<namespaces::TreeNamespaces> namespaces_;
    std::optional<namespaces::MountRestore> mounts_;
    std::optional<LockedNetwork> lockedNetwork_;
    std::optional<cgroup::CgroupRestore> cgroups_;
    std::optional<RestoreControl> control_;
    std::optional<RestoreRun> state_;
    std::optional<ActionScripts> scripts_;
    std::optional<memory::SysvShmRestore> sysvShm_;
    std::optional<NewProcesses> processes_;
    std::optional<ResumedTree> resumed_;
    std::optional<cgroup::FrozenGroups> frozenGroups_;  // thawed before the processes have to end
    std::optional<PidFile> pidFile_;
};

}  // namespace

int restore(Run& run) {
    return RestoreSession(run).run();
}

}  // namespace criu::engine
