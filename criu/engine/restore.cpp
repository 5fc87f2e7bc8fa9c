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
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/engine/action_scripts.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/pid_file.hpp"
#include "criu/engine/restore_control.hpp"
#include "criu/engine/restore_files.hpp"
#include "criu/engine/restore_images.hpp"
#include "criu/engine/restore_resume.hpp"
#include "criu/engine/restore_task.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/kernel/features.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/stat.hpp"
#include "criu/memory/sysv_shm.hpp"
#include "criu/task/cpu_info.hpp"

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

/// As many descriptors as allowed, while files of the tree are opened.
int raiseFileLimit() {
    rlimit limit{};
    sys(::getrlimit(RLIMIT_NOFILE, &limit), "read the limit of open files");
    limit.rlim_cur = limit.rlim_max;
    sys(::setrlimit(RLIMIT_NOFILE, &limit), "raise the limit of open files to {}", limit.rlim_max);
    constexpr rlim_t kPlenty = 1U << 30;
    return static_cast<int>(std::min(limit.rlim_max, kPlenty));
}

/// Processes that exist because of this restore: killed unless the restore has come through.
class NewProcesses {
public:
    NewProcesses(const RestoreControl& control, Log& log) : control_(control), log_(log) {
        // Whoever loses its parent while all are killed becomes our child, to be reaped here.
        ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
    ~NewProcesses() {
        if (!kept_)
            killAll();
        ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    }
    NewProcesses(const NewProcesses&) = delete;
    NewProcesses& operator=(const NewProcesses&) = delete;

    void keep() noexcept { kept_ = true; }

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
        constexpr int kRounds = 2000;
        for (int round = 0; round < kRounds; ++round) {
            bool left = false;
            for (const pid_t pid : control_.created()) {
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
    Log& log_;
    bool kept_ = false;
};

/// Throws if a process that should be on its way has died.
void checkAlive(const model::ProcessTree& tree, const RestoreControl& control) {
    kernel::ProcBuffer buffer;
    const kernel::ProcDir proc;
    const std::vector<pid_t> created = control.created();
    for (const auto& task : tree.tasks) {
        if (!task->alive() || std::find(created.begin(), created.end(), task->pid) == created.end())
            continue;
        try {
            const kernel::TaskStat stat = kernel::readStat(proc.open(task->pid), buffer);
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

void awaitParked(const RestoreControl& control, const model::ProcessTree& tree, std::uint32_t alive,
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
        checkAlive(tree, control);
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

}  // namespace

int restore(Run& run) {
    Log& log = run.log;
    const auto started = std::chrono::steady_clock::now();
    RestoreStatistics statistics;

    ImageDir images(std::move(run.imagesDir), run.options.imagesDir);
    RestoreImages content = readImages(images, log);
    if (run.options.cpuCaps.has(model::CpuCap::Image))
        task::checkCpu(images, run.options.cpuCaps);
    model::ProcessTree& tree = content.tree;

    log.info("Stage: plan");
    BirthPlan births = planBirths(tree, run.options);
    memory::Segments segments;
    device::RestoreDevices devices(run.devices, **content.inventory, run.options, log, images);
    sockets::NetworkLock network(lockMethod(**content.inventory, run.options), lockName(content), log);
    FilePlan files(run.options, log, images, content, births, segments, network, devices);
    files.make();
    namespaces::NetworkRestore networkSpace(run.options, images, (*content.inventory)->root_ids,
                                            tree.root().ids ? tree.root().ids->get() : nullptr, log);
    segments.collect(tree, images, [&](FileId id) -> std::uint64_t {
        const FileEntry& entry = files.entry(id);
        return entry.memfd != nullptr ? entry.memfd->inode_id : 0;
    });

    cgroup::CgroupRestore cgroups(run.options, log, images, (*content.inventory)->root_cg_set);
    for (const auto& task : tree.tasks)
        for (const model::Thread& thread : task->threads)
            cgroups.require(cgroupSetOf(**thread.core));

    const kernel::ResourceLimits limitsBefore = ownLimits();
    const ServiceFds service = files.chooseServiceFds(raiseFileLimit());
    const auto lift = [&service](UniqueFd fd) { return service.lift(std::move(fd)); };
    images.move(lift);
    log.move(lift);
    files.takeInherited(service);
    devices.share(lift);
    files.takeTerminal(service);

    RestoreControl control(static_cast<std::uint32_t>(births.all().size()));
    control.descriptor() = lift(std::move(control.descriptor()));

    RestoreRun state{run.options,
                     log,
                     images,
                     content,
                     births,
                     files,
                     segments,
                     cgroups,
                     networkSpace,
                     control,
                     service,
                     task::Credentials::ofSelf(),
                     task::Scheduling::of(0),
                     ownLimits(),
                     hasPosixTimers(tree) && kernel::Features().has(kernel::Feature::TimerRestoreIds)};

    ActionScripts scripts(run.options.actionScripts, images.fd(), run.stop, log);
    scripts.setRootPid(tree.root().pid);
    scripts.require(Stage::PreRestore);

    log.info("Stage: deleted files and shared memory");
    files.remaps().create(files, lift);
    segments.create(images, lift);
    memory::SysvShmRestore sysvShm(log);
    if (const auto& ids = tree.root().ids; ids && (*ids)->has_ipc_ns_id != 0)
        sysvShm.create(images, (*ids)->ipc_ns_id);
    cgroups.create(lift);
    networkSpace.create(
        images, [&files](std::string_view name) { return files.inherited(name); }, lift);

    log.info("Stage: processes");
    NewProcesses processes(control, log);
    const auto forking = std::chrono::steady_clock::now();
    createRoot(state, run.options.restoreSibling);
    devices.forked();
    const std::uint64_t sharedBytes = segments.fill(images);

    std::uint32_t alive = 0;
    for (const auto& task : tree.tasks)
        alive += task->alive() ? 1 : 0;
    awaitParked(control, tree, alive, run.stop);
    if (run.takeOrphanMaster)
        while (UniqueFd master = files.handedOver())
            run.takeOrphanMaster(std::move(master));
    segments.finish();
    cgroups.setProperties();
    statistics.forking =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - forking);

    log.info("Stage: registers");
    ResumedTree resumed(state);
    scripts.require(Stage::PostRestore);
    if (run.options.pidFile)
        writePidFile(*run.options.pidFile, tree.root().pid);
    run.stop.throwIfRequested();
    for (const auto& task : tree.tasks)
        if (task->alive())
            devices.resume(task->pid);
    if (networkSpace.wasOwn())
        scripts.run(Stage::NetworkUnlock);
    networkSpace.inside([&] {
        if (networkSpace.wasOwn())
            network.adoptNamespace();
        try {
            files.finish();
            network.unlock();
        } catch (...) {
            network.keep();  // for another try
            throw;
        }
    });
    scripts.run(Stage::PreResume);

    cgroups.freeze();

    // From here on nothing may fail: first one goes, then they are on their own.
    devices.finish();
    resumed.letGo(run.options.finalState == model::FinalState::Stopped);
    processes.keep();
    sysvShm.keep();
    cgroups.keep();
    files.remaps().removeLinks(log);

    statistics.restore =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started);
    statistics.pagesRestored = control.page().restoredPages + sharedBytes / kPageSize;
    statistics.pagesCompared = control.page().comparedPages;
    statistics.pagesSkippedCow = control.page().sharedPages;
    writeStatistics(ImageDir::open("."), statistics);
    if (run.options.displayStats)
        ::dprintf(STDOUT_FILENO, "%s", describeStatistics(statistics).c_str());
    log.info("Restore finished: {} processes run", alive);
    scripts.run(Stage::PostResume);

    // Restored limits of criu itself matter for the command that --exec-cmd becomes.
    ::setrlimit(RLIMIT_NOFILE, &limitsBefore[RLIMIT_NOFILE]);
    if (run.options.detached || !run.options.execCommand.empty() ||
        run.options.finalState == model::FinalState::Stopped)
        return 0;
    return awaitRoot(tree.root().pid, run.stop, log);
}

}  // namespace criu::engine
