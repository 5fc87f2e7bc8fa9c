// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/restore_task.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/engine/restore/birth/restore_start.hpp"
#include "criu/engine/restore/birth/subreaper_reparent.hpp"
#include "criu/engine/restore/files/task_files.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/engine/restore/task/restore_program.hpp"
#include "criu/engine/restore/task/task_directories.hpp"
#include "criu/engine/restore/task/task_memory.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/kernel/keyring.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/own_signals.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/birth_shares.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/process_birth.hpp"
#include "images/core.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

/// Scope in which the calling process creates children in a nested pid namespace (setns(2), CLONE_NEWPID).
class PidNsForChildren {
public:
    /// Waits until the first process of the nested pid namespace `space` exists, and enters the namespace by its pidfd.
    /// Throws Error. `own`: pid namespace of the calling process; null for the root's namespace.
    PidNsForChildren(const RestoreControl& control, const model::NestedPidNs& space, const model::NestedPidNs* own);
    ~PidNsForChildren();
    PidNsForChildren(const PidNsForChildren&) = delete;
    PidNsForChildren& operator=(const PidNsForChildren&) = delete;

    /// Makes the destructor do nothing. Call it in a new child, because the child stays in the nested namespace.
    void forget() noexcept { home_.reset(); }

private:
    UniqueFd home_;
};

PidNsForChildren::PidNsForChildren(const RestoreControl& control, const model::NestedPidNs& space,
                                   const model::NestedPidNs* own)
    : home_(kernel::openOwnNamespace(kernel::NamespaceKind::Pid)) {
    const TreePid first = model::NestedPids::firstOf(space);
    control.awaitCreated(first);
    const kernel::PidFd there(model::NestedPids::numberIn(own, first));
    sys(::setns(there.fd(), CLONE_NEWPID), "have a child in the pid namespace of process {}", first);
}

PidNsForChildren::~PidNsForChildren() {
    ::setns(home_.get(), CLONE_NEWPID);  // a process may always select its own pid namespace
}

using model::Birth;
using model::Task;

/// State of one restored process from its birth to the jump into the restorer.
class TaskRestore {
public:
    /// `creator`: copy of the creator's object in this process; null for the root. `siblings`: children of the creator
    /// that this process creates.
    TaskRestore(RestoreRun& run, const Birth& birth, TaskRestore* creator, std::vector<TreePid> siblings)
        : run_(run),
          birth_(birth),
          creator_(creator),
          siblings_(std::move(siblings)),
          space_(birth.pid < TreePid() ? creator->space_ : run.content.tree.nested().of(birth.pid)),
          pid_(birth.pid < TreePid() ? TreePid(::getpid()) : birth.pid),
          task_(birth.helper ? nullptr : run.content.tree.byPid.at(birth.pid)),
          cgroupSet_(creator != nullptr ? creator->cgroupSet_ : (*run.content.inventory)->root_cg_set),
          files_(run, task_, birth.pid, space_),
          memory_(creator != nullptr ? &creator->memory_ : nullptr) {
        if (creator != nullptr)
            files_.inheritFrom(creator->files_);
    }

    [[noreturn]] void live() {
        run_.log.setPidPrefix(pid_.value);
        setProcessTitle(task_ == nullptr ? fmt::format("restore: helper {}", pid_)
                                         : fmt::format("restore process {} ({})", pid_, task_->core().tc->comm));
        run_.log.beginProcess(task_ == nullptr ? "helper" : task_->core().tc->comm);
        run_.log.stage("nsContext");
        const NoOuterContexts own;  // errors of this process don't include the error contexts of its creator
        try {
            begin();
            if (task_ == nullptr || !task_->alive())
                end();
            finish();
        } catch (const Error& error) {
            // The coordinator reports the failure that was logged first as the error of the restore.
            run_.log.info("Failed: {}", error.what());
            run_.control.reportFailure(pid_, error.what(), error.code());
        } catch (const std::exception& error) {
            run_.control.reportFailure(pid_, error.what(), 0);
        }
        // Waits until the coordinator kills this process, together with all other restored processes.
        for (;;)
            ::pause();
    }

private:
    [[nodiscard]] bool isRoot() const { return !birth_.creator; }
    [[nodiscard]] bool alive() const { return task_ != nullptr && task_->alive(); }

    void begin() {
        // A reparented process gets no death signal, because the signal would come when its creator ends: this is a
        // helper that ends during the restore.
        if (!birth_.reparented)
            setDeathSignal();
        // Creates siblings before any other step, because they must inherit the state of the creator.
        for (const TreePid sibling : siblings_)
            creator_->createHere(run_.births.of(sibling), CLONE_PARENT, {});
        if (isRoot())
            cleanProcess();
        // In a private mount or user namespace, only the root opens its log itself. A process that it creates could
        // open a file of the tree at the same path.
        const bool reachesLog = isRoot() || (!run_.nsContext.ownPaths && !run_.nsContext.ids.isOwnNamespace());
        if (run_.options.logPid && !run_.options.logFile.empty() && reachesLog)
            openOwnLog();
        if (isRoot())
            awaitNamespaces();
        enterCgroups();
        if (isRoot()) {
            buildNamespaces();
            kernel::joinNewSessionKeyring();
        }
        if (alive())
            enterNamespaces();
        files_.openShared();

        const bool shareMemory = alive() && TaskMemory::sharesWithChildren(run_, birth_, *task_);
        if (shareMemory)
            buildMemory(true);
        run_.log.stage("children");
        if (alive())
            early_ = makeEarlyThreads(*task_, run_.content.tree.nested());
        createAll(birth_.beforeSession);
        if (birth_.leadsSession) {
            enterSession();
            files_.beginSession();
        } else if (birth_.pgid == pid_) {
            sys(::setpgid(0, 0), "lead a process group");
        }
        if (alive())
            task::restoreEarlyAttributes(*task_->core().tc, !run_.nsContext.ids.isOwnNamespace());
        createAll(inOrderOfSpaces(birth_.afterSession));
        if (shareMemory) {
            run_.log.stage("rest of memory");
            memory_.complete(run_, *task_);
        } else if (alive()) {
            buildMemory(false);
        }
        run_.log.stage("files");

        const bool sharesTable = alive() && task_->files->users.size() > 1;
        if (!sharesTable)
            files_.place();
        run_.log.stage("wait for all processes");
        run_.control.pass(Barrier::Born);
        run_.log.stage("late files");
        joinGroup();
        if (sharesTable)
            files_.place();  // after this barrier, no process that shares the table opens files any more
        files_.openLate();
        run_.control.pass(Barrier::Placed);
        files_.groupsJoined();
        files_.fetchLate();
        files_.complete();
        if (alive())
            memory_.mapDevices(run_, *task_, files_);
        run_.control.pass(Barrier::Completed);
    }

    void buildMemory(bool forChildren) {
        run_.log.stage("memory");
        memory_.build(run_, *task_, files_, forChildren);
    }

    /// Makes the kernel kill this process when its creator ends. If criu is killed, all restored processes end in this
    /// way.
    void setDeathSignal() const {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (isRoot() && !run_.control.coordinatorLives())
            ::_exit(1);  // the coordinator was killed before the prctl(2) call
    }

    /// Waits at the gate while the coordinator fills the namespaces of the root.
    void awaitNamespaces() {
        for (const auto& kind : run_.namespaces)
            kind->begin();
        run_.control.noteRootStarted();
        run_.control.awaitGate();
        const auto elapsed = run_.log.elapsed();
        for (const auto& kind : run_.namespaces)
            kind->enterFirst({*task_, cgroupSet_});
        run_.log.setElapsed(elapsed);  // adapts log times, because a time namespace has other clocks
    }

    void enterNamespaces() {
        const auto elapsed = run_.log.elapsed();
        for (const auto& kind : run_.namespaces)
            kind->enter(*task_);
        run_.log.setElapsed(elapsed);  // adapts log times, because a time namespace has other clocks
    }

    void buildNamespaces() {
        for (const auto& kind : run_.namespaces) {
            kind->build();
            setDeathSignal();  // the kernel clears the death signal when credentials change: prctl(2)
        }
    }

    /// Closes descriptors and resets signal handlers that the process has inherited from the coordinator.
    void cleanProcess() {
        run_.stop.forget();
        if (run_.service.first > 0)
            sys(::close_range(0, static_cast<unsigned>(run_.service.first - 1), 0), "close files of the coordinator");
        sys(::close_range(static_cast<unsigned>(run_.service.last + 1), ~0U, 0), "close files of the coordinator");
        // Blocks all signals except SIGCHLD, because a blocked SIGCHLD of ended helpers and zombies would stay pending.
        resetSignalActions();
        blockSignals(~maskOf(SIGCHLD));
    }

    /// Enters the cgroups before the process allocates memory, because the kernel charges memory to the cgroups of the
    /// process that allocates it.
    void enterCgroups() {
        if (alive())
            cgroupSet_ = run_.cgroups.enterOwn(task_->core(), cgroupSet_);
    }

    void enterSession() {
        if (::getsid(0) == ::getpid())
            return;
        sys(::setsid(), "lead a session");
    }

    void joinGroup() {
        if (!birth_.pgid || ::getpgid(0) == own(birth_.pgid))
            return;
        // A process group with pid 0 here is outside of the process' pid namespace, so the process can't join it by
        // setpgid(2).
        if (own(birth_.pgid) == 0)
            fail("process {} isn't in process group {}, which its pid namespace doesn't see", pid_, birth_.pgid);
        sys(::setpgid(0, own(birth_.pgid)), "join process group {}", birth_.pgid);
    }

    /// Creates children. Several processes create plain children, because clone3(2) takes most of the time.
    void createAll(const std::vector<TreePid>& pids) {
        const model::BirthShares births =
            model::divideBirths(pids, availableCores(), [this](TreePid pid) { return isPlain(pid); });
        for (const TreePid pid : births.single)
            create(run_.births.of(pid));
        for (const std::vector<TreePid>& share : births.shares)
            createHere(run_.births.of(share.front()), 0, {share.begin() + 1, share.end()});
    }

    /// Returns true if a child needs nothing at its birth but a copy of this process, and has no children itself. A
    /// sibling can create such a child.
    [[nodiscard]] bool isPlain(TreePid pid) const {
        const model::ProcessTree& tree = run_.content.tree;
        const auto found = tree.byPid.find(pid);
        if (found == tree.byPid.end() || !found->second->alive() || !tree.nested().empty())
            return false;
        const Birth& birth = run_.births.of(pid);
        const Task& task = *found->second;
        return !birth.helper && !birth.reparented && !birth.viaCloneParent && !birth.parentThread &&
               birth.beforeSession.empty() && birth.afterSession.empty() && task.files->users.size() == 1 &&
               std::all_of(run_.namespaces.begin(), run_.namespaces.end(),
                           [&task](const auto& kind) { return kind->birthFlags(task) == 0; });
    }

    void create(const Birth& child) {
        const std::uint64_t flags = child.viaCloneParent ? CLONE_PARENT : 0;
        if (isOfThread(child))
            early_.at(child.parentThread)->run([&] { createHere(child, flags, {}); });
        else
            createHere(child, flags, {});
    }

    /// Creates a child as a copy of the calling process: this process, or a child that is still a copy of it. `flags`:
    /// further flags of clone3(2). `siblings`: children of this process that the child creates.
    void createHere(const Birth& child, std::uint64_t flags, std::vector<TreePid> siblings) {
        const auto found = run_.content.tree.byPid.find(child.pid);
        if (found != run_.content.tree.byPid.end()) {
            if (alive() && found->second->files == task_->files)
                flags |= CLONE_FILES;
            for (const auto& kind : run_.namespaces)
                flags |= kind->birthFlags(*found->second);
        }
        const bool spare = child.pid < TreePid();
        const model::ProcessTree& tree = run_.content.tree;
        std::optional<PidNsForChildren> space;
        if (tree.nested().isPutInside(run_.births, child))
            space.emplace(run_.control, *tree.nested().of(child.pid), space_);
        const pid_t number = spare ? createHelperProcess(tree, space_ == nullptr ? 0 : space_->depth, flags)
                                   : createWithPid(tree.nested().numbersOf(child.pid), flags, run_.log);
        if (number == 0) {
            if (space && (flags & CLONE_FILES) == 0)
                space->forget();
            // Never deleted: the object is needed until the process unmaps criu's memory, and this also frees it.
            auto* const heir = new TaskRestore(run_, child, this, std::move(siblings));
            heir->live();
        }
        run_.control.noteCreated(spare ? TreePid(number) : child.pid);
        if (child.helper)
            helpers_.push_back(number);
    }

    /// Returns the children in the order in which the process must create them: by the depth of their pid namespaces,
    /// the deepest last. Before a child in a nested namespace, its creator waits for the init of this namespace. So it
    /// must first create all processes on which this init depends.
    [[nodiscard]] std::vector<TreePid> inOrderOfSpaces(std::vector<TreePid> pids) const {
        const model::NestedPids& nested = run_.content.tree.nested();
        const auto depth = [&](TreePid pid) {
            return nested.isPutInside(run_.births, run_.births.of(pid)) ? nested.of(pid)->depth : 0;
        };
        if (!nested.empty())
            std::stable_sort(pids.begin(), pids.end(),
                             [&](TreePid one, TreePid other) { return depth(one) < depth(other); });
        return pids;
    }

    /// Ends the calling process, which is a helper or a zombie of the images.
    [[noreturn]] void end() {
        awaitReparentTurn(run_.births, birth_, run_.control);
        reapHelpers();
        if (task_ != nullptr) {
            ::prctl(PR_SET_NAME, task_->core().tc->comm);  // the name of a zombie in ps(1)
            exitWithStatus(static_cast<int>(task_->core().tc->exit_code));
        }
        ::_exit(0);
    }

    void reapHelpers() {
        for (const pid_t helper : helpers_)
            sys(::waitpid(helper, nullptr, __WALL), "wait for helper {}", helper);
    }

    void awaitZombies() {
        for (const Task* child : task_->children) {
            if (child->alive())
                continue;
            siginfo_t info{};
            sys(::waitid(P_PID, static_cast<id_t>(own(child->pid)), &info, WEXITED | WNOWAIT | __WALL),
                "wait for zombie process {}", child->pid);
        }
    }

    [[noreturn]] void finish() {
        run_.log.stage("relations");
        reparentInTurn(run_.births, birth_, run_.content.tree.nested(), run_.control);
        const TaskCoreEntry& core = *task_->core().tc;
        if (core.has_child_subreaper != 0 && core.child_subreaper != 0)
            restoreSubreaper(run_.births, run_.control);
        reapHelpers();
        awaitZombies();
        blockSignals(~std::uint64_t{0});
        resetSignalActions();

        for (const auto& kind : run_.namespaces)
            kind->complete(*task_);
        for (const auto& [tid, thread] : early_)
            thread->run([this] { followLeader(); });
        memory_.createAioRings(run_, *task_);
        run_.log.stage("last program");
        RestoreProgram program({run_, *task_, memory_.space(), files_});
        const ThreadDirectories ofThreads(*task_, run_.files, run_.service, files_);
        enterDirectories(*task_, run_.files, run_.service, files_);
        memory_.seal(files_);
        run_.log.endStages();
        program.run(ofThreads, early_);
    }

    /// Makes in an early thread the changes that its leader has made in itself. Threads that are created later inherit
    /// these changes from the leader, but an early thread already exists.
    void followLeader() const {
        for (const auto& kind : run_.namespaces)
            kind->completeThread(*task_);
        task::restoreLoginUid(*task_->core().tc);
    }

    void openOwnLog() {
        run_.log.open(fmt::format("{}.{}", run_.options.logFile, pid_));
        run_.log.move([this](UniqueFd&& fd) { return run_.service.moveIn(std::move(fd)); });
    }

    /// Returns the pid of a process in the pid namespace of this process.
    [[nodiscard]] pid_t own(TreePid pid) const noexcept { return model::NestedPids::numberIn(space_, pid); }

    RestoreRun& run_;
    const Birth& birth_;
    TaskRestore* creator_;                   ///< copy of the creator's object in this process; null for the root
    std::vector<TreePid> siblings_;          ///< children of the creator that this process creates
    const model::NestedPids::Space* space_;  ///< pid namespace of the process; null for the root's namespace
    TreePid pid_;
    const Task* task_;
    std::uint32_t cgroupSet_;  ///< id of the cgroup set that the process is in
    TaskFiles files_;
    TaskMemory memory_;
    std::vector<pid_t> helpers_;  ///< pids of the process' helpers in its own pid namespace
    EarlyThreads early_;
};

/// Calls `create`, which creates the root, while criu has the supplementary groups that the root must have at birth. If
/// the tree's user namespace denies setgroups(2), these are the dumped groups; else they are criu's groups. Throws
/// Error.
void withBirthGroups(const RestoreRun& run, const std::function<void()>& create) {
    const model::IdMap& ids = run.nsContext.ids;
    if (ids.deniesSetgroups())
        kernel::withIdentity({::geteuid(), ::getegid(), task::outerGroups(run.start.credentials.groups, ids)}, create);
    else
        create();
}

}  // namespace

HostPid createRoot(RestoreRun& run, bool asSibling) {
    const Birth& root = run.births.root();
    std::uint64_t flags = asSibling ? CLONE_PARENT : 0;
    for (const auto& kind : run.namespaces)
        flags |= kind->birthFlags(run.content.tree.root());
    HostPid pid;
    withBirthGroups(run, [&] {
        pid = run.nsContext.createInUserns([&] {
            const HostPid made(createWithPid({root.pid.value}, flags, run.log));
            if (!made) {
                auto* const first = new TaskRestore(run, root, nullptr, {});
                first->live();
            }
            return made;
        });
    });
    run.control.noteCreated(root.pid);
    return pid;
}

}  // namespace criu::engine
