// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore_task.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/engine/restore_program.hpp"
#include "criu/engine/task_files.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/limits.hpp"
#include "criu/kernel/stat.hpp"
#include "criu/task/attributes.hpp"

namespace criu::engine {
namespace {

using model::Birth;
using model::Task;

constexpr int kSignals = 64;

constexpr std::uint64_t maskOf(int signal) {
    return std::uint64_t{1} << (signal - 1);
}

/// By the kernel's call: libc's never blocks the two signals that it keeps for threads. One of them is what its timers
/// with SIGEV_THREAD send, which would end a process that isn't complete yet.
void blockSignals(std::uint64_t mask) {
    sys(static_cast<int>(::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof(mask))), "block signals");
}

/// All numbers of pids that the image has.
std::set<pid_t> numbersOf(const model::ProcessTree& tree) {
    std::set<pid_t> numbers;
    for (const auto& task : tree.tasks) {
        numbers.insert({task->pid, task->pgid, task->sid});
        for (const model::Thread& thread : task->threads)
            numbers.insert(thread.tid);
    }
    return numbers;
}

/// clone3 with a chosen pid. Returns twice, as fork does.
pid_t clonePid(pid_t pid, std::uint64_t flags) {
    clone_args args{};
    args.flags = flags;
    args.exit_signal = (flags & CLONE_PARENT) != 0 ? 0 : SIGCHLD;
    args.set_tid = reinterpret_cast<std::uint64_t>(&pid);
    args.set_tid_size = 1;
    return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
}

/// Who has a pid; nothing if nobody can be found: it may be the number of a group or session only, or just be free.
std::optional<kernel::TaskStat> holderOf(pid_t pid) {
    try {
        kernel::ProcBuffer buffer;
        return kernel::readStat(kernel::ProcDir().open(pid), buffer);
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// What was dumped a moment ago may still be ending, or wait for its parent to take notice.
bool isEnding(const kernel::TaskStat& task) {
    constexpr std::uint32_t kExiting = 0x4;  // PF_EXITING
    return task.state == kernel::TaskState::Zombie || task.state == kernel::TaskState::Dead ||
           (task.flags & kExiting) != 0;
}

/// A process whose group or session has a number; nothing if none can be found.
std::optional<kernel::TaskStat> memberOf(pid_t number) {
    for (const pid_t pid : kernel::ProcDir().processes()) {
        const auto task = holderOf(pid);
        if (task && (task->pgrp == number || task->session == number))
            return task;
    }
    return std::nullopt;
}

/// For messages.
std::string describeHolder(const kernel::TaskStat& task, pid_t pid) {
    const std::string name = task.pid == pid
                                 ? task.comm
                                 : fmt::format("the process group or session of process {} ({})", task.pid, task.comm);
    return isEnding(task) ? fmt::format("{}, ended, but not waited for by process {}", name, task.ppid) : name;
}

/// clonePid() that waits for whoever is about to leave the pid, and fails with who has it. Usually that is a matter of
/// moments; but whoever takes notice of the end of hundreds of processes needs seconds.
pid_t createAs(pid_t wanted, std::uint64_t flags) {
    using Clock = std::chrono::steady_clock;
    constexpr auto kMoments = std::chrono::seconds(2);
    constexpr auto kPatience = std::chrono::seconds(20);
    constexpr auto kPause = std::chrono::milliseconds(1);
    constexpr auto kLongPause = std::chrono::milliseconds(20);
    const auto begin = Clock::now();
    for (;;) {
        const pid_t pid = clonePid(wanted, flags);
        if (pid >= 0)
            return pid;
        if (errno != EEXIST)
            failErrno("create process {}", wanted);
        auto holder = holderOf(wanted);
        const auto waited = Clock::now() - begin;
        const bool moments = waited < kMoments;
        if (!moments && !holder)
            holder = memberOf(wanted);
        if (waited < kPatience && (!holder || isEnding(*holder))) {  // nobody: they have just gone
            std::this_thread::sleep_for(moments ? kPause : kLongPause);
            continue;
        }
        Error error(EEXIST, fmt::format("create process {}: the pid is taken by {}", wanted,
                                        holder ? describeHolder(*holder, wanted) : "a process group or session"));
        error.addHint("end that process, or restore in a pid namespace");
        throw error;
    }
}

/// A helper whose number doesn't matter, except that nobody of the tree may need it: neither as a pid nor as the number
/// of a thread, group or session. Numbers are tried from the highest downwards, far from where trees usually are.
pid_t createSpare(const std::set<pid_t>& needed, std::uint64_t flags) {
    for (pid_t candidate = kernel::highestPid(); candidate > 1; --candidate) {
        // The kernel finds a number taken only when it has made a whole process.
        if (needed.contains(candidate) || ::kill(candidate, 0) == 0)
            continue;
        const pid_t pid = clonePid(candidate, flags);
        if (pid >= 0)
            return pid;
        if (errno != EEXIST)
            failErrno("create a helper with pid {}", candidate);
    }
    fail("no pid is free for a helper");
}

/// The life of one process from its creation to the jump into the restorer's program.
class TaskRestore {
public:
    TaskRestore(RestoreRun& run, const Birth& birth, const TaskRestore* creator)
        : run_(run),
          birth_(birth),
          pid_(::getpid()),
          task_(birth.helper ? nullptr : run.content.tree.byPid.at(birth.pid)),
          cgroupSet_((*run.content.inventory)->root_cg_set),
          files_(run.files, run.service, run.segments, run.network, task_, birth.pid, run.log) {
        if (creator != nullptr) {
            files_.inheritFrom(creator->files_);
            inheritedSpace_ = &creator->space_;
            cgroupSet_ = creator->cgroupSet_;
        }
    }

    [[noreturn]] void live() {
        run_.log.setPidPrefix(pid_);
        try {
            begin();
            if (task_ == nullptr || !task_->alive())
                end();
            finish();
        } catch (const Error& error) {
            run_.log.failure(error);
            run_.control.reportFailure(error.what());
        } catch (const std::exception& error) {
            run_.control.reportFailure(error.what());
        }
        // The master kills everybody; nothing may happen here until then.
        for (;;)
            ::pause();
    }

private:
    [[nodiscard]] bool isRoot() const { return birth_.creator == 0; }
    [[nodiscard]] bool alive() const { return task_ != nullptr && task_->alive(); }

    void begin() {
        // If criu is killed, so is everything half-built. An adopted process would lose its creator too early.
        if (!birth_.adopted)
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (isRoot() && !run_.control.masterLives())
            ::_exit(1);  // it was killed before we could ask to be told
        if (isRoot())
            cleanProcess();
        // In a mount namespace of its own the log's path would lead into the tree's files.
        const bool reachesLog = isRoot() || (!run_.mounts.wasOwn() && !run_.ids.isOwnNamespace());
        if (run_.options.logPid && !run_.options.logFile.empty() && reachesLog)
            openOwnLog();
        if (isRoot()) {
            run_.network.makeOthers();
            run_.control.awaitGate();
        }
        enterCgroups();
        if (isRoot()) {
            const auto elapsed = run_.log.elapsed();
            run_.namespaces.enter();
            run_.log.setElapsed(elapsed);  // clocks may be others now
            run_.network.enter();
            if (run_.ids.isOwnNamespace())
                becomeFirst();
            if (run_.mounts.wasOwn())
                makeMounts();
        }
        if (alive() && task_->ids && (*task_->ids)->has_mnt_ns_id != 0)
            run_.mounts.enter((*task_->ids)->mnt_ns_id);
        files_.openShared();

        const bool shareMemory = alive() && hasHeirs();
        if (shareMemory)
            buildMemory();
        createAll(birth_.beforeSession);
        if (birth_.leadsSession) {
            enterSession();
            files_.beginSession();
        } else if (birth_.pgid == pid_) {
            sys(::setpgid(0, 0), "lead a process group");
        }
        if (alive())
            task::restoreEarlyAttributes(*task_->core().tc, !run_.ids.isOwnNamespace());
        createAll(birth_.afterSession);
        if (alive() && !shareMemory)
            buildMemory();

        const bool sharesTable = alive() && task_->files->users.size() > 1;
        if (!sharesTable)
            files_.place();
        run_.control.pass(Barrier::Born);
        joinGroup();
        if (sharesTable)
            files_.place();  // nobody else of the table's users opens anything after the barrier
        files_.openLate();
        run_.control.pass(Barrier::Placed);
        files_.groupsJoined();
        files_.fetchLate();
        files_.complete();
        if (alive())
            space_.mapDevices(*task_, files_, run_.log);
        run_.control.pass(Barrier::Completed);
    }

    /// What is made from here on belongs to somebody of the tree's user namespace.
    void becomeFirst() {
        // Where criu is may be nothing for that user.
        sys(::chdir("/"), "enter the root directory");
        task::becomeFirst(run_.ids);
        // The kernel forgets this whenever the user changes.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!run_.control.masterLives())
            ::_exit(1);
    }

    /// From here on paths are those of the tree.
    void makeMounts() {
        const auto lift = [this](UniqueFd fd) { return run_.service.lift(std::move(fd)); };
        files::PathRemaps& remaps = run_.files.remaps();
        const auto plugins = [this](int id, const std::string& path) { run_.files.devices().putMount(id, path); };
        inContext([] { return "make the mount namespace of the tree"; },
                  [&] { remaps.setHidden(run_.mounts.build(run_.images, plugins, lift)); });
        remaps.create(run_.files, model::IdMap(), lift);
        run_.mounts.seal();
    }

    /// Drops what the master has and restored processes mustn't have.
    void cleanProcess() {
        if (run_.service.first > 0)
            ::close_range(0, static_cast<unsigned>(run_.service.first - 1), 0);
        ::close_range(static_cast<unsigned>(run_.service.last + 1), ~0U, 0);
        // SIGCHLD stays unblocked: the end of helpers and of those that are to be zombies must leave no trace.
        resetSignalActions();
        blockSignals(~maskOf(SIGCHLD));
    }

    /// By the kernel's call: libc's adds flags of its own, and keeps two signals to itself, for threads.
    static void resetSignalActions() {
        const std::uint64_t none[4] = {};
        for (int signal = 1; signal <= kSignals; ++signal)
            ::syscall(SYS_rt_sigaction, signal, none, nullptr, sizeof(std::uint64_t));
    }

    /// Before anything is allocated that is counted there.
    void enterCgroups() {
        const std::uint32_t wanted = alive() ? cgroupSetOf(task_->core()) : 0;
        if (wanted == 0)
            return;
        if (isRoot() && hasCgroupNamespace())
            run_.cgroups.enterNamespace(wanted, cgroupSet_);
        else
            run_.cgroups.enter(wanted, cgroupSet_);
        cgroupSet_ = wanted;
    }

    [[nodiscard]] bool hasCgroupNamespace() const {
        const TaskKobjIdsEntry* const outside = (*run_.content.inventory)->root_ids;
        return task_->ids && outside != nullptr && (*task_->ids)->has_cgroup_ns_id != 0 &&
               outside->has_cgroup_ns_id != 0 && (*task_->ids)->cgroup_ns_id != outside->cgroup_ns_id;
    }

    void enterSession() {
        if (::getsid(0) == pid_)
            return;
        sys(::setsid(), "lead a session");
    }

    void joinGroup() {
        if (birth_.pgid == 0 || ::getpgid(0) == birth_.pgid)
            return;
        sys(::setpgid(0, birth_.pgid), "join process group {}", birth_.pgid);
    }

    /// Whether a process created by this one may share pages with it.
    [[nodiscard]] bool hasHeirs() const {
        const auto mayShare = [this](pid_t pid) {
            if (pid < 0 || run_.births.of(pid).helper)
                return true;  // a helper hands memory on
            const Task& child = *run_.content.tree.byPid.at(pid);
            if (!child.alive())
                return false;
            const MmEntry& mine = **task_->mm;
            const MmEntry& other = **child.mm;
            // After an exec of its own even the same program lies elsewhere, or at least its stack does.
            return mine.mm_start_stack == other.mm_start_stack && mine.mm_start_code == other.mm_start_code;
        };
        return std::any_of(birth_.beforeSession.begin(), birth_.beforeSession.end(), mayShare) ||
               std::any_of(birth_.afterSession.begin(), birth_.afterSession.end(), mayShare);
    }

    void buildMemory() {
        static const memory::AddressSpace kNothing;
        space_ = memory::AddressSpace::build(*task_, inheritedSpace_ != nullptr ? *inheritedSpace_ : kNothing, files_,
                                             run_.log);
        space_.fill(*task_, run_.images, run_.log);
        inheritedSpace_ = nullptr;
    }

    void createAll(const std::vector<pid_t>& pids) {
        for (const pid_t pid : pids)
            create(run_.births.of(pid));
    }

    void create(const Birth& child) {
        std::uint64_t flags = child.viaCloneParent ? CLONE_PARENT : 0;
        const auto found = run_.content.tree.byPid.find(child.pid);
        if (alive() && found != run_.content.tree.byPid.end() && found->second->files == task_->files)
            flags |= CLONE_FILES;
        const pid_t pid = child.pid < 0 ? createSpare(numbersOf(run_.content.tree), flags) : createAs(child.pid, flags);
        if (pid == 0) {
            auto* const heir = new TaskRestore(run_, child, this);  // lives as long as the process' old memory
            heir->live();
        }
        run_.control.noteCreated(pid);
        if (child.helper)
            helpers_.push_back(pid);
    }

    /// Helpers and processes that are dead in the image.
    [[noreturn]] void end() {
        if (const auto turn = run_.births.endOf(birth_))
            run_.control.awaitAdoption(2 * *turn + 1);
        reapHelpers();
        if (task_ != nullptr) {
            ::prctl(PR_SET_NAME, task_->core().tc->comm);  // what ps shows of it
            dieAs(static_cast<int>(task_->core().tc->exit_code));
        }
        ::_exit(0);
    }

    /// Ends with a wait(2) status.
    [[noreturn]] static void dieAs(int status) {
        if (WIFSIGNALED(status)) {
            const int signal = WTERMSIG(status);
            const rlimit none{};
            ::setrlimit(RLIMIT_CORE, &none);
            blockSignals(~maskOf(signal));
            ::kill(::getpid(), signal);
        }
        ::_exit(WEXITSTATUS(status));
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
            sys(::waitid(P_PID, static_cast<id_t>(child->pid), &info, WEXITED | WNOWAIT | __WALL),
                "wait for process {} to die as it had", child->pid);
        }
    }

    /// In its turn a process is the subreaper that helpers leave their children to.
    void adopt() {
        const std::optional<std::size_t> turn = run_.births.turnOf(birth_.pid);
        if (!turn)
            return;
        run_.control.awaitAdoption(2 * *turn);
        becomeSubreaper(true);
        run_.control.continueAdoption();
        for (const Birth& other : run_.births.all())
            if (other.adopted && other.parent == birth_.pid)
                awaitChild(other.pid);
        becomeSubreaper(false);
        run_.control.continueAdoption();
    }

    static void becomeSubreaper(bool on) {
        sys(::prctl(PR_SET_CHILD_SUBREAPER, on ? 1 : 0, 0, 0, 0), "{} child subreaper", on ? "become" : "cease to be");
    }

    void awaitChild(pid_t pid) const {
        constexpr auto kPatience = std::chrono::seconds(10);
        constexpr auto kPause = std::chrono::microseconds(200);
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        for (;;) {
            siginfo_t info{};
            if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
                return;
            if (errno != ECHILD)
                failErrno("look for child {}", pid);
            if (std::chrono::steady_clock::now() > deadline)
                fail("process {} was to become a child of {}, but isn't", pid, pid_);
            std::this_thread::sleep_for(kPause);
        }
    }

    /// What the process is itself counts when nobody is to be adopted any more.
    void restoreSubreaper() {
        const TaskCoreEntry& core = *task_->core().tc;
        if (core.has_child_subreaper == 0 || core.child_subreaper == 0)
            return;
        run_.control.awaitAdoption(2 * run_.births.adopters().size());
        becomeSubreaper(true);
    }

    [[noreturn]] void finish() {
        adopt();
        restoreSubreaper();
        reapHelpers();
        awaitZombies();
        blockSignals(~std::uint64_t{0});
        resetSignalActions();

        enterOwnNetwork();
        space_.createAioRings(*task_, run_.images);
        const RestoreProgram::Inputs inputs{run_, *task_, space_, files_};
        RestoreProgram program(inputs);
        run_.namespaces.giveToProcess(pid_);
        enterDirectories();
        space_.mapSockets(files_);
        space_.seal();
        program.run();
    }

    /// After all files: each was opened where it belongs.
    void enterOwnNetwork() {
        const auto number = task_->ids ? namespaces::numberOf(**task_->ids, kernel::NamespaceKind::Net) : std::nullopt;
        if (number && run_.network.isOther(*number))
            run_.network.enter(*number);
    }

    void openOwnLog() {
        run_.log.open(fmt::format("{}.{}", run_.options.logFile, pid_));
        run_.log.move([this](UniqueFd fd) { return run_.service.lift(std::move(fd)); });
    }

    void enterDirectories() {
        const FsEntry& fs = **task_->fs;
        const UniqueFd root = run_.service.lift(files_.openPath(FileId{fs.root_id}, O_PATH | O_DIRECTORY));
        const FileEntry& cwdEntry = run_.files.entry(FileId{fs.cwd_id});
        if (cwdEntry.reg == nullptr)
            fail("the working directory, file {}, isn't a path", cwdEntry.id);
        const auto owner = files::reviveOwner(*cwdEntry.reg, run_.files.remaps());
        const UniqueFd cwd = run_.service.lift(files_.openPath(FileId{fs.cwd_id}, O_PATH | O_DIRECTORY));
        const FileEntry& rootEntry = run_.files.entry(FileId{fs.root_id});
        if (std::string_view(rootEntry.reg->name) != "/") {
            sys(::fchdir(root.get()), "enter the root directory {}", rootEntry.reg->name);
            sys(::chroot("."), "change the root to {}", rootEntry.reg->name);
        }
        sys(::fchdir(cwd.get()), "enter the working directory");
        if (fs.has_umask != 0)
            ::umask(static_cast<mode_t>(fs.umask));
    }

    RestoreRun& run_;
    const Birth& birth_;
    pid_t pid_;
    const Task* task_;
    std::uint32_t cgroupSet_;  ///< the one it is in
    TaskFiles files_;
    memory::AddressSpace space_;
    const memory::AddressSpace* inheritedSpace_ = nullptr;
    std::vector<pid_t> helpers_;
};

}  // namespace

std::uint32_t cgroupSetOf(const CoreEntry& core) {
    if (core.thread_core != nullptr && core.thread_core->has_cg_set != 0)
        return core.thread_core->cg_set;
    return core.tc != nullptr && core.tc->has_cg_set != 0 ? core.tc->cg_set : 0;
}

pid_t createRoot(RestoreRun& run, bool asSibling) {
    const Birth& root = run.births.root();
    std::uint64_t flags = asSibling ? CLONE_PARENT : 0;
    if (run.own.has(kernel::NamespaceKind::Pid))
        flags |= CLONE_NEWPID;
    if (run.own.has(kernel::NamespaceKind::User))
        flags |= CLONE_NEWUSER;
    if (run.mounts.wasOwn())
        flags |= CLONE_NEWNS;
    if (run.network.isNew())
        flags |= CLONE_NEWNET;
    flags |= static_cast<std::uint64_t>(run.namespaces.newKinds());
    const pid_t pid = createAs(root.pid, flags);
    if (pid == 0) {
        auto* const first = new TaskRestore(run, root, nullptr);
        first->live();
    }
    run.control.noteCreated(root.pid);
    return pid;
}

}  // namespace criu::engine
