// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/engine/action_scripts.hpp"
#include "criu/engine/dump_files.hpp"
#include "criu/engine/dump_memory.hpp"
#include "criu/engine/dump_task.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/frozen_tree.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/progress.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/kernel/kcmp.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/kernel/sched.hpp"
#include "criu/kernel/sysv_ipc.hpp"
#include "criu/namespaces/clocks.hpp"
#include "criu/namespaces/image_order.hpp"
#include "criu/namespaces/ipc.hpp"
#include "criu/namespaces/mount_dump.hpp"
#include "criu/namespaces/networks_dump.hpp"
#include "criu/namespaces/uts.hpp"
#include "criu/task/compat.hpp"
#include "criu/task/cpu_info.hpp"
#include "criu/task/security_label.hpp"
#include "images/fs.hpp"
#include "images/inventory.hpp"
#include "images/pstree.hpp"

namespace criu::engine {
namespace {

/// A name for this dump that no other has.
std::string makeRunId() {
    std::string id = kernel::ProcDir().readFile("sys/kernel/random/uuid");
    while (!id.empty() && id.back() == '\n')
        id.pop_back();
    return id;
}

/// One dump, from the running tree to complete images.
class DumpSession {
public:
    DumpSession(Run& run, Guardian& guardian)
        : options_(run.options),
          guardian_(guardian),
          rootPid_(guardian.root().inside),
          log_(run.log),
          stop_(run.stop),
          images_(std::move(run.imagesDir), run.options.imagesDir),
          runId_(makeRunId()),
          network_(run.options.networkLock.value_or(sockets::defaultNetworkLock()), runId_, run.log),
          networks_(
              run.options, network_, runId_,
              [this](const kernel::NetworkLink& link) {
                  return devices_->takeLink(static_cast<int>(link.index), link.hardware, link.kind);
              },
              numbers_, run.stop, run.log),
          devices_(std::in_place, run.devices, run.options, run.log, images_, run.stop),
          files_(run.options, run.log, run.stop, images_, segments_, network_, networks_, *devices_),
          memory_(run.options, images_, files_, segments_, *devices_, statistics_),
          cgroups_(run.options),
          progress_("Dumping", bytesDone_, Progress::terminal(run.options)) {}

    ~DumpSession() {
        if (!scriptsLocked_)
            return;
        try {
            runScripts(Stage::NetworkUnlock);
        } catch (const std::exception& error) {
            log_.warn("{}", error.what());
        }
    }
    DumpSession(const DumpSession&) = delete;
    DumpSession& operator=(const DumpSession&) = delete;

    int run() {
        // Without it the directory is recognisably no (or an incomplete) dump.
        images_.unlink(ImageKind::Inventory);
        images_.unlink(ImageKind::RemapFpath);
        images_.unlink(ImageKind::PipesData);
        images_.unlink(ImageKind::FifoData);
        images_.unlink(ImageKind::SkQueues);
        images_.unlink(ImageKind::Memfd);
        images_.unlink(ImageKind::BpfmapData);
        images_.unlink(ImageKind::TtyInfo);
        images_.unlink(ImageKind::TtyData);
        images_.unlink(ImageKind::FileLocks);
        guardian_.requireScripts(Stage::PreDump);

        freeze();
        checkSupported();
        files_.setNamespaces(numbers_, guardian_.root().ids);
        if (numbers_.isOwn(kernel::NamespaceKind::Mount))
            lookAtMounts();
        inNamespace(kernel::NamespaceKind::Ipc, [this](std::uint32_t number) { checkIpc(number); });
        enterNetwork();
        for (const auto& task : tree_->tasks())
            if (task->alive())
                devices_->checkpoint(*task->process);
        log_.info("Stage: processes");
        dumpTasks();
        log_.info("Stage: memory");
        memory_.run(bytesDone_, progress_, stop_);
        devices_->dumpLate(rootPid_);
        if (numbers_.isOwn(kernel::NamespaceKind::Ipc))
            writeIpc();
        else
            memory_.writeSysvShm(numbers_.ofTree(kernel::NamespaceKind::Ipc));
        log_.info("Stage: files");
        files_.finish();
        if (mounts_)
            mounts_->write(images_, ids_, numbers_.isOwn(kernel::NamespaceKind::Ipc), stop_);
        networks_.write(images_);
        inNamespace(kernel::NamespaceKind::Uts,
                    [this](std::uint32_t number) { namespaces::UtsDump(number).write(images_); });
        writeTree();
        writeRest();
        stop_.throwIfRequested();
        writeInventory();
        try {
            return finish();
        } catch (...) {
            if (!ending_)
                images_.unlink(ImageKind::Inventory);
            throw;
        }
    }

private:
    void pause(pid_t pid) {
        if (paused_.insert(pid).second)
            devices_->pause(pid);
    }

    void pauseGroup(const std::string& path) {
        const auto pauseAll = [this](const std::filesystem::path& group) {
            std::ifstream processes(group / "cgroup.procs");
            for (pid_t pid = 0; processes >> pid;)
                if (pid > 0)  // 0: of another pid namespace
                    pause(pid);
        };
        pauseAll(path);
        std::error_code vanished;  // a group that goes away meanwhile has nobody to pause
        const std::filesystem::recursive_directory_iterator end;
        for (std::filesystem::recursive_directory_iterator at(path, vanished); at != end; at.increment(vanished))
            if (at->is_directory(vanished))
                pauseAll(at->path());
    }

    void freeze() {
        log_.info("Stage: freeze");
        const Stopwatch watch(statistics_.freezing);
        frozenSince_ = std::chrono::steady_clock::now();
        if (options_.freezeCgroup) {
            // Devices are paused while their processes can still do something for it.
            pauseGroup(*options_.freezeCgroup);
            freezer_.emplace(*options_.freezeCgroup, options_.timeout, stop_);
        }
        tree_.emplace(FrozenTree::freeze(rootPid_, options_.timeout, freezer_ ? &*freezer_ : nullptr, stop_, log_,
                                         [this](pid_t pid) { pause(pid); }));
        files_.setProcesses(tree_->tasks());
    }

    /// Refuses what can't be dumped, before anything is changed.
    void checkSupported() {
        const kernel::NamespaceIds& own = guardian_.root().home;
        const FrozenTask& root = *tree_->tasks().front();
        if (root.stat.session != root.pid() && !options_.shellJob) {
            Error error(0, fmt::format("process {} ({}) doesn't lead its session: the leader is {}", root.pid(),
                                       root.status.name, root.stat.session));
            error.addHint("start it with setsid, or dump with --shell-job");
            throw error;
        }
        const kernel::NamespaceIds ofRoot = kernel::readNamespaceIds(root.dir);
        for (const kernel::NamespaceKind kind : namespaces::kImageOrder)
            if (ofRoot.of(kind) != own.of(kind))
                numbers_.setOwn(kind);
        if (numbers_.isOwn(kernel::NamespaceKind::Pid))
            requireWholeNamespace();
        if (numbers_.isOwn(kernel::NamespaceKind::User))
            lookAtUsers(root);
        if (numbers_.isOwn(kernel::NamespaceKind::Cgroup))
            cgroups_.setNamespace(root.dir);
        const std::optional<std::string> ownLabel = task::securityLabel(kernel::ProcDir().self());
        for (const auto& task : tree_->tasks()) {
            if (!task->alive())
                continue;
            if (task->stat.session == 0)
                fail("process {} is in a session of an outer pid namespace", task->pid());
            const kernel::NamespaceIds theirs = kernel::readNamespaceIds(task->dir);
            for (const kernel::NamespaceKind kind : namespaces::kImageOrder)
                if (kind == kernel::NamespaceKind::Mount && numbers_.isOwn(kind))
                    noteMounts(*task, theirs.of(kind).value_or(0));
                else if (kind == kernel::NamespaceKind::Net && theirs.of(kind) != own.of(kind) && numbers_.isOwn(kind))
                    requireOneNetwork(*task);
                else if (theirs.of(kind) != ofRoot.of(kind))
                    fail("process {} ({}) is in another {} namespace than the root of the tree", task->pid(),
                         task->status.name, kernel::namespaceName(kind));
            const auto requireSame = [&](kernel::NamespaceKind kind, std::optional<std::uint32_t> forChildren) {
                if (forChildren != theirs.of(kind))
                    fail(
                        "process {} ({}) creates its children in another {} namespace than its own, which can't be "
                        "dumped yet",
                        task->pid(), task->status.name, kernel::namespaceName(kind));
            };
            requireSame(kernel::NamespaceKind::Time, theirs.timeForChildren);
            requireSame(kernel::NamespaceKind::Pid, theirs.pidForChildren);
            if (ownLabel)
                inContext([&] { return fmt::format("process {} ({})", task->pid(), task->status.name); },
                          [&] { task::refuseOtherLabel(task->dir, *ownLabel); });
            if (!tree_->seccompSuspended())
                refuseSeccomp(*task);
            task->compat = task::isCompat(*task->process, task->dir);
        }
        refuseShared(kernel::KcmpType::Vm, "their memory (CLONE_VM)");
        refuseShared(kernel::KcmpType::Fs, "their working directory (CLONE_FS)");
        refuseShared(kernel::KcmpType::Sighand, "their signal handlers (CLONE_SIGHAND)");
    }

    /// Threads may be in network namespaces of their own; images have one for each process.
    static void requireOneNetwork(const FrozenTask& task) {
        if (task.process->threads().size() == 1)
            return;
        const auto network = kernel::readNamespaceId(task.dir, kernel::NamespaceKind::Net);
        for (const compel::FrozenThread& thread : task.process->threads())
            if (kernel::readNamespaceId(task.dir.thread(thread.tracee.tid()), kernel::NamespaceKind::Net) != network)
                fail(
                    "thread {} of process {} ({}) is in another network namespace than the process, which can't be "
                    "dumped",
                    thread.tracee.tid(), task.pid(), task.status.name);
    }

    /// A pid namespace is restored as a whole, from its first process on, and ends with that.
    void requireWholeNamespace() {
        if (rootPid_ != 1)
            fail("the root of the tree is process {} of a pid namespace, whose first process isn't part of the tree",
                 rootPid_);
        std::set<pid_t> known{::getpid()};
        for (const auto& task : tree_->tasks())
            known.insert(task->pid());
        if (options_.finalState == model::FinalState::Running)
            return;
        for (const pid_t pid : kernel::ProcDir().processes()) {
            if (known.contains(pid))
                continue;
            Error error(0, fmt::format("process {} is in the pid namespace of the tree but not part of the tree", pid));
            error.addHint("it was put there from outside (nsenter, exec of a container) and would be lost");
            throw error;
        }
    }

    void lookAtUsers(const FrozenTask& root) {
        // Whoever restores processes there has no say about pids outside.
        if (!numbers_.isOwn(kernel::NamespaceKind::Pid))
            fail(
                "process {} ({}) is in a user namespace of its own, but not in a pid namespace of its own: its pids "
                "couldn't be restored there",
                root.pid(), root.status.name);
        ids_ = model::IdMap::ofProcess(root.dir);
        files_.setIds(ids_);
        if (root.dir.tryReadFile("setgroups").value_or("").starts_with("deny"))
            log_.warn("the user namespace of the tree forbids setgroups(2); it won't after a restore");
    }

    /// What criu has to do in a thread its filters might forbid, and that might kill it.
    static void refuseSeccomp(FrozenTask& task) {
        kernel::ProcBuffer buffer;
        for (const compel::FrozenThread& thread : task.process->threads()) {
            const auto mode = kernel::readThreadStatus(task.dir, thread.tracee.tid(), buffer).seccomp;
            if (mode.value_or(kernel::SeccompMode::Disabled) == kernel::SeccompMode::Disabled)
                continue;
            Error error(EPERM,
                        fmt::format("thread {} of process {} runs under seccomp", thread.tracee.tid(), task.pid()));
            error.addHint("criu needs CAP_SYS_ADMIN for it, and may not run under seccomp itself");
            throw error;
        }
    }

    /// Processes may share descriptors but nothing else.
    void refuseShared(kernel::KcmpType type, const char* what) {
        std::vector<pid_t> pids;
        for (const auto& task : tree_->tasks())
            if (task->alive())
                pids.push_back(task->pid());
        // In the kernel's order, those that share are neighbours.
        std::sort(pids.begin(), pids.end(),
                  [&](pid_t a, pid_t b) { return kernel::kcmp(a, b, type) == std::partial_ordering::less; });
        const auto shared = std::adjacent_find(pids.begin(), pids.end(), [&](pid_t a, pid_t b) {
            return kernel::kcmp(a, b, type) == std::partial_ordering::equivalent;
        });
        if (shared != pids.end())
            fail("processes {} and {} share {}, which can't be dumped", std::min(shared[0], shared[1]),
                 std::max(shared[0], shared[1]), what);
    }

    /// Processes may be in other mount namespaces than the root.
    void noteMounts(const FrozenTask& task, std::uint32_t inode) {
        auto found = mountNumbers_.find(inode);
        if (found == mountNumbers_.end()) {
            const std::uint32_t number =
                mountNumbers_.empty() ? numbers_.ofTree(kernel::NamespaceKind::Mount) : numbers_.addOther();
            found = mountNumbers_.emplace(inode, number).first;
            mountSpaces_.push_back({number, &task.dir});
        }
        mountNumberOf_[task.pid()] = found->second;
    }

    /// Paths are those of the tree's mount namespace, which isn't entered.
    void lookAtMounts() {
        log_.info("Stage: mounts");
        mounts_.emplace(options_, mountSpaces_, log_,
                        [this](const std::string& mountPoint, int id) { return devices_->takeMount(mountPoint, id); });
        files_.setTreeRoot(mounts_->treeRoot());
    }

    /// From here on criu is in the network namespace of the tree's root: it looks at sockets and changes rules there.
    void enterNetwork() {
        const auto criu = guardian_.root().home.of(kernel::NamespaceKind::Net);
        if (!numbers_.isOwn(kernel::NamespaceKind::Net))
            return networks_.begin(criu);
        log_.info("Stage: network");
        const kernel::ProcPid& root = tree_->tasks().front()->dir;
        const UniqueFd space = root.open("ns/net", O_RDONLY);
        networkVisit_.emplace(space.get(), kernel::NamespaceKind::Net);
        networks_.begin(criu);
        for (const auto& task : tree_->tasks())
            if (task->alive())
                inContext([&] { return fmt::format("process {} ({})", task->pid(), task->status.name); },
                          [&] { networkOf_.emplace(task->pid(), networks_.ofProcess(task->dir)); });
        scriptsLocked_ = true;
        guardian_.requireScripts(Stage::NetworkLock);
        networks_.lock();
    }

    void checkIpc(std::uint32_t number) {
        ipcDump_.emplace(number, ids_).check();
        for (const int id : kernel::listIpcIds(kernel::IpcKind::SharedMemory))
            segments_.reserve(static_cast<std::uint32_t>(id));
    }

    void writeIpc() {
        inNamespace(kernel::NamespaceKind::Ipc, [this](std::uint32_t) {
            memory::Drainer::Options how;
            how.stopWanted = [this] { return stop_.requested(); };
            memory::Drainer drainer(how);
            statistics_.sharedPagesWritten += ipcDump_->write(images_, memory_.pagesIds(), drainer, stop_);
        });
    }

    /// Runs `work` in the tree's namespace of a kind if the tree has one for itself; with the number in images.
    void inNamespace(kernel::NamespaceKind kind, const std::function<void(std::uint32_t)>& work) {
        if (!numbers_.isOwn(kind))
            return;
        const UniqueFd space =
            tree_->tasks().front()->dir.open(fmt::format("ns/{}", kernel::namespaceName(kind)), O_RDONLY);
        kernel::inOwnThread([&] {
            const kernel::NamespaceVisit visit(space.get(), kind);
            work(numbers_.ofTree(kind));
        });
    }

    int runScripts(Stage stage) {
        int status = 0;
        if (networkVisit_)  // a script that has to be run here is run at home
            networkVisit_->atHome([&] { status = guardian_.runScripts(stage); });
        else
            status = guardian_.runScripts(stage);
        return status;
    }

    void dumpTasks() {
        std::uint32_t next = 1;
        memory_.lookAhead(*tree_);
        // All descriptors come before memory, which may be mapped from somebody else's.
        for (auto& task : tree_->tasks()) {
            stop_.throwIfRequested();
            if (task->alive())
                inContext([&] { return fmt::format("process {} ({})", task->pid(), task->status.name); },
                          [&] { files_.addTable(*task); });
        }
        for (auto& task : tree_->tasks()) {
            stop_.throwIfRequested();
            inContext([&] { return fmt::format("process {} ({})", task->pid(), task->status.name); },
                      [&] {
                          if (!task->alive()) {
                              dumpDead(*task, images_);
                              return;
                          }
                          dumpTask(*task, ++next);
                      });
            progress_.tick();
        }
    }

    void dumpTask(FrozenTask& task, std::uint32_t number) {
        log_.info("Dumping process {} ({})", task.pid(), task.status.name);
        const std::uint32_t table = files_.addTable(task);  // which it knows already
        task.hasRings = files_.has(FD_TYPES__IO_URING, task.pid());
        if (task.hasRings && task.compat)
            fail("it is a 32-bit process with an io_uring, whose requests have another form, which can't be dumped");
        MmEntry& mm = memory_.collect(task);
        fillMemoryLayout(task, mm, files_.arena());
        mm.exe_file_id = files_.addLink(task, "exe", 0, true).value;
        TaskKobjIdsEntry ids = TASK_KOBJ_IDS_ENTRY__INIT;
        ids.vm_id = ids.fs_id = ids.sighand_id = number;
        ids.files_id = table;
        numbers_.storeTree(ids);
        if (const auto nested = mountNumberOf_.find(task.pid()); nested != mountNumberOf_.end())
            ids.mnt_ns_id = nested->second;
        if (const auto network = networkOf_.find(task.pid()); network != networkOf_.end())
            ids.net_ns_id = network->second;
        writeOne(ImageKind::Ids, task.pid(), ids);

        FsEntry fs = FS_ENTRY__INIT;
        fs.cwd_id = files_.addLink(task, "cwd", 0, false).value;
        fs.root_id = files_.addLink(task, "root", 0, false).value;
        fs.has_umask = task.status.umask.has_value();
        fs.umask = task.status.umask.value_or(0);
        writeOne(ImageKind::Fs, task.pid(), fs);

        dumpCores(task,
                  {images_, log_, seccomp_, cgroups_, tree_->seccompSuspended(), onlineCpus_, ids_,
                   ipcDump_ ? &ipcDump_->semaphores() : nullptr},
                  mm);
    }

    template <typename T>
    void writeOne(ImageKind kind, pid_t pid, const T& message) {
        ImageWriter image = images_.create(kind, static_cast<std::uint64_t>(pid));
        image.write(message);
        image.finish();
    }

    void writeTree() {
        ImageWriter image = images_.create(ImageKind::Pstree);
        for (const auto& task : tree_->tasks()) {
            PstreeEntry entry = PSTREE_ENTRY__INIT;
            entry.pid = static_cast<std::uint32_t>(task->pid());
            entry.ppid = task->pid() == rootPid_ ? 0 : static_cast<std::uint32_t>(task->stat.ppid);
            entry.pgid = static_cast<std::uint32_t>(task->stat.pgrp);
            entry.sid = static_cast<std::uint32_t>(task->stat.session);
            std::vector<std::uint32_t> threads;
            if (task->alive())
                for (const compel::FrozenThread& thread : task->process->threads())
                    threads.push_back(static_cast<std::uint32_t>(thread.tracee.tid()));
            else
                threads.push_back(entry.pid);
            entry.n_threads = threads.size();
            entry.threads = threads.data();
            image.write(entry);
        }
        image.finish();
    }

    void writeRest() {
        seccomp_.write(images_);
        if (ids_.isOwnNamespace())
            ids_.write(images_, numbers_.ofTree(kernel::NamespaceKind::User));
        if (freezer_)
            cgroups_.setFreezer(freezer_->unified(), freezer_->wasFrozen());
        cgroups_.write(images_);
        images_.unlink(ImageKind::Cpuinfo);
        if (options_.cpuCaps.has(model::CpuCap::Image))
            task::dumpCpu(images_);

        const bool ownTime = numbers_.isOwn(kernel::NamespaceKind::Time);
        namespaces::ClocksDump(ownTime ? numbers_.ofTree(kernel::NamespaceKind::Time) : 0)
            .write(images_, tree_->tasks().front()->dir);
    }

    /// Last of all images: it says that the others are there.
    void writeInventory() {
        InventoryEntry entry = INVENTORY_ENTRY__INIT;
        TaskKobjIdsEntry own = TASK_KOBJ_IDS_ENTRY__INIT;
        own.vm_id = own.files_id = own.fs_id = own.sighand_id = 1;
        numbers_.storeCriu(own);
        PluginsEntry plugins = PLUGINS_ENTRY__INIT;
        std::vector<char*> names;
        std::vector<std::string> used = devices_->used();
        for (std::string& name : used)
            names.push_back(name.data());
        plugins.n_plugins = names.size();
        plugins.plugins = names.data();
        entry.img_version = static_cast<std::uint32_t>(ImageVersion::V1_1);
        entry.has_fdinfo_per_id = entry.fdinfo_per_id = 1;
        entry.root_ids = &own;
        entry.has_ns_per_id = entry.ns_per_id = 1;
        entry.has_root_cg_set = 1;
        entry.root_cg_set = cgroup::CgroupDump::kOwnSet;
        entry.has_lsmtype = 1;
        entry.lsmtype = LSMTYPE__NO_LSM;
        entry.has_network_lock_method = 1;
        entry.network_lock_method = sockets::networkLockNumber(network_.method());
        entry.has_tcp_close = entry.tcp_close = options_.tcpClose;
        entry.plugins_entry = &plugins;
        entry.dump_criu_run_id = runId_.data();
        entry.has_allow_uprobes = entry.allow_uprobes = memory_.sawUprobes();
        ImageWriter image = images_.create(ImageKind::Inventory);
        image.write(entry);
        image.finish();
    }

    int finish() {
        // A script that fails here asks for the tree to go on; the images stay.
        const int status = runScripts(Stage::PostDump);
        const bool goesOn = status != 0 || options_.finalState == model::FinalState::Running;
        devices_->release(goesOn || options_.finalState == model::FinalState::Stopped);
        if (goesOn || options_.finalState == model::FinalState::Stopped) {
            files_.settle(goesOn ? files::Aftermath::Run : files::Aftermath::Stop);
            networks_.settle(!goesOn);
            if (std::exchange(scriptsLocked_, false) && goesOn)
                runScripts(Stage::NetworkUnlock);
            if (freezer_)
                freezer_->restore();
            tree_->letGo(!goesOn);
        } else {
            ending_ = true;
            scriptsLocked_ = false;
            tree_->kill(guardian_.isInside());
            if (freezer_)
                freezer_->release();
            files_.settle(files::Aftermath::End);
            networks_.settle(true);
        }
        statistics_.frozen =
            std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - frozenSince_);
        reportStatistics(statistics_, options_, log_);
        log_.info("Dumping finished successfully");
        if (ending_ && guardian_.isInside())
            endNamespace();
        return status;
    }

    [[noreturn]] void endNamespace() {
        try {
            guardian_.endNamespace();
        } catch (const std::exception& error) {
            // The root, whose children are gone, must not go on: it ends with this process.
            log_.failure(error);
            ::_exit(1);
        }
    }

    const model::Options& options_;
    Guardian& guardian_;
    const pid_t rootPid_;  ///< in the pid namespace of the tree, as are all pids here
    Log& log_;
    StopRequest& stop_;
    ImageDir images_;
    const std::optional<std::size_t> onlineCpus_ = kernel::onlineCpus();
    namespaces::NamespaceNumbers numbers_;
    model::IdMap ids_;
    std::optional<kernel::NamespaceVisit> networkVisit_;   // outlives what unlocks the network
    std::map<std::uint32_t, std::uint32_t> mountNumbers_;  ///< of mount namespaces, by their inodes
    std::map<pid_t, std::uint32_t> mountNumberOf_;
    std::vector<namespaces::SeenNamespace> mountSpaces_;
    std::optional<namespaces::IpcDump> ipcDump_;
    std::optional<namespaces::MountDump> mounts_;
    std::optional<FrozenTree> tree_;          // outlived by nothing that refers to the processes
    std::optional<cgroup::Freezer> freezer_;  // a group that was frozen is frozen again before its tasks are let go
    DumpStatistics statistics_;
    memory::SegmentsDump segments_;
    std::string runId_;
    sockets::NetworkLock network_;
    namespaces::NetworksDump networks_;
    std::map<pid_t, std::uint32_t> networkOf_;    ///< numbers of the network namespaces of processes
    std::optional<device::DumpDevices> devices_;  // undone before the processes go on
    FileCollector files_;
    DumpMemory memory_;
    task::SeccompDump seccomp_;
    cgroup::CgroupDump cgroups_;
    std::atomic<std::uint64_t> bytesDone_{0};
    Progress progress_;
    std::chrono::steady_clock::time_point frozenSince_;
    bool scriptsLocked_ = false;  ///< scripts have been asked to lock the network
    std::set<pid_t> paused_;      ///< whose devices are
    bool ending_ = false;         ///< the tree is: nothing but the images is left of it
};

}  // namespace

int dump(Run& run) {
    const GuardedRoot root(*run.options.tree);
    ActionScripts scripts(run.options.actionScripts, run.imagesDir.get(), run.stop, run.log);
    scripts.setRootPid(*run.options.tree);
    return runGuarded(run.stop, scripts, root, run.log, [&run](Guardian& guardian) {
        try {
            guardian.mountProc();
            return DumpSession(run, guardian).run();
        } catch (const std::exception& error) {
            run.log.failure(error);
            return 1;
        }
    });
}

}  // namespace criu::engine
