// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_group.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/engine/lazy/lazy_link.hpp"
#include "criu/engine/lazy/lazy_processes.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/lazy/lazy_supply.hpp"
#include "criu/engine/local_channel.hpp"
#include "criu/engine/pageserver/page_server_connection.hpp"
#include "criu/engine/pageserver/server_start.hpp"
#include "criu/engine/progress.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/kernel/cgroupfs.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/lazy/lazy_memory.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/remote_pages.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// Returns the lazy page map of a process, with all pages that the restore hasn't filled.
memory::LazyPageMap lazyPagesOf(const model::Task& task, const memory::PageSource& source) {
    memory::LazyPageMap pages;
    const memory::LazyAreas areas = lazyAreasOf(task);
    for (const memory::Range& mapping : areas.mappings())
        source.forEach(mapping.start, mapping.end, [&](const memory::PageJob& job) {
            areas.forEach(job, [&](const memory::PageJob& part, bool late) {
                if (late)
                    pages.add({part.address, part.bytes, part.address});
            });
        });
    return pages;
}

/// Message of the worker to the watchdog process.
struct Completion {
    std::int32_t inside = 0;  ///< TreePid of a process that has all its pages; 0 if all processes and their children do
};

/// The worker process of the daemon, which supplies pages. If it fails, it logs the error and kills the restored
/// processes.
class Worker {
public:
    Worker(Run& run, ImageDir& images, LazyLink link, LazyProcesses& processes, const UniqueFd& watchdog)
        : run_(run), images_(images), link_(std::move(link)), processes_(processes), watchdog_(watchdog) {}

    void run() {
        const memory::FilePageSources sources(images_, run_.options.checksum.value_or(true));
        const RestoreImages content = readImages(images_, sources, run_.log);
        std::optional<memory::RemotePages> remote;
        if (run_.options.pageServer)
            remote.emplace(connectToPageServer(run_.options, run_.stop));
        LazySupply supply(run_.stop, run_.log);
        for (LazyProcess& process : processes_.all())
            if (process.memory)
                // `content` and `remote` outlive the callback, because only supply.run() calls it.
                add(process, content, remote ? &*remote : nullptr, supply);
        awaitWatchdog();
        link_.send({LazyMessage::Kind::Ready});
        supply.run(link_);
        processes_.clear();
        report({});
        if (remote)
            remote->finish();
        run_.log.info("All processes have their pages");
    }

private:
    void add(LazyProcess& process, const RestoreImages& content, memory::PageSupplier* remote, LazySupply& supply) {
        const auto task = content.tree.byPid.find(process.inside);
        const auto source = content.pages.find(process.inside);
        if (task == content.tree.byPid.end() || source == content.pages.end())
            fail("the restore is about process {}, which isn't in these images", process.inside);
        memory::LazyPageMap pages = lazyPagesOf(*task->second, *source->second);
        run_.log.debug("Process {}: {} KiB come late", process.inside, pages.waitingBytes() >> 10);
        auto pageContent = std::make_shared<const memory::LazyContent>(
            *source->second, memory::MemoryObject::process(process.inside), remote);
        pageContent->open();
        auto memory =
            std::make_unique<memory::LazyMemory>(fmt::format("process {}", process.inside), std::move(process.memory),
                                                 std::move(pages), std::move(pageContent));
        supply.add(std::move(memory), [this, inside = process.inside] { report({inside.value}); });
    }

    /// Waits until the watchdog process is in its cgroups, or has ended. No process of the tree runs before.
    void awaitWatchdog() const { (void)waitReady(watchdog_.get(), POLLIN, run_.stop, std::nullopt); }

    /// Sends a Completion to the watchdog process. Ignores errors, which mean that the watchdog process has ended.
    void report(const Completion& done) const noexcept { (void)!::write(watchdog_.get(), &done, sizeof(done)); }

    Run& run_;
    ImageDir& images_;
    LazyLink link_;
    LazyProcesses& processes_;
    const UniqueFd& watchdog_;  ///< channel to the watchdog process; reads EOF when this process is in its cgroups
};

[[noreturn]] void work(Run& run, ImageDir& images, LazyLink link, LazyProcesses processes, const UniqueFd& watchdog) {
    becomeProcessGroupLeader();
    setProcessTitle("lazy pages: supply");
    ::signal(SIGPIPE, SIG_IGN);
    try {
        Worker(run, images, std::move(link), processes, watchdog).run();
        ::_exit(0);
    } catch (const std::exception& error) {
        run.log.failure(error);
        processes.end(run.log);
    }
    ::_exit(1);
}

/// Moves the watchdog process into the cgroups of the restored root. If all processes in criu's own cgroups are killed
/// at once (cgroup.kill, memory.oom.group, systemctl kill), the watchdog process then kills the tree.
void enterTreesCgroups(Run& run, LazyProcesses& processes) {
    const kernel::PidFd& root = processes.all().front().process;
    try {
        const kernel::ProcPid dir = kernel::ProcDir().open(root.pid());
        if (!root.waitExit())
            kernel::enterCgroupsOf(dir);
    } catch (const Error& error) {
        run.log.info("If both processes of the daemon are killed at once, the tree reads zeroes: {}", error.what());
    }
}

/// Receives a Completion in the watchdog process. Returns false if the worker has closed the connection.
bool takeCompletion(const UniqueFd& reports, LazyProcesses& processes) {
    Completion done;
    if (::read(reports.get(), &done, sizeof(done)) != sizeof(done))
        return false;
    if (done.inside == 0)
        processes.clear();
    else
        processes.closeMemory(TreePid(done.inside));
    return true;
}

/// Waits in the watchdog process for the end of the worker. The watchdog process has copies of all userfaultfds. When
/// the last descriptor of a userfaultfd is closed, the kernel resolves faults with zeroes.
int watch(Run& run, pid_t worker, UniqueFd reports, LazyProcesses& processes) {
    const kernel::PidFd process(worker);
    bool passedOn = false;
    for (;;) {
        pollfd events[] = {
            {process.fd(), POLLIN, 0}, {passedOn ? -1 : run.stop.fd(), POLLIN, 0}, {reports.get(), POLLIN, 0}};
        if (::poll(events, std::size(events), -1) < 0 && errno != EINTR)
            failErrno("wait for process {}", worker);
        if (events[2].revents != 0 && !takeCompletion(reports, processes))
            reports.reset();
        if (events[1].revents != 0) {
            (void)process.sendSignal(SIGTERM);  // on SIGTERM, the worker kills the restored processes
            passedOn = true;
        }
        int status = 0;
        if (events[0].revents == 0 || ::waitpid(worker, &status, 0) != worker)
            continue;
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        run.log.error("the process that supplied pages was killed by signal {}", WTERMSIG(status));
        processes.end(run.log);
        return 1;
    }
}

/// Ends a daemon whose processes all have their pages from the beginning. Connects to the waiting dump or page server
/// and closes the connection. Sends PageCommand::Close only when the restored processes run, because a dump then kills
/// its tree.
void finishWithoutPages(Run& run, LazyLink& link) {
    std::optional<memory::RemotePages> remote;
    if (run.options.pageServer)
        remote.emplace(connectToPageServer(run.options, run.stop));
    link.send({LazyMessage::Kind::Ready});
    link.receiveDone(run.stop);
    if (remote)
        remote->finish();
    run.log.info("All pages were restored at once");
}

int serve(Run& run, ImageDir& images, LazyListener listener) {
    kernel::raiseFileLimit();  // the daemon has two descriptors for each process, and one for each pages file
    announceReady(run);
    if (!run.options.detached)
        showWait(run.options,
                 "Waiting for criu restore --lazy-pages in the same work directory. Ctrl-C ends the wait.");
    LazyLink link = listener.accept(run.stop);
    run.log.info("A restore has connected");
    LazyProcesses processes = LazyProcesses::receive(link, run.stop);
    if (!processes.anyLacksPages()) {
        finishWithoutPages(run, link);
        return 0;
    }
    auto [worker, watchdog] = makeChannel();
    const pid_t child = sys(::fork(), "create the process that supplies pages");
    if (child == 0) {
        worker.reset();
        work(run, images, std::move(link), std::move(processes), watchdog);
    }
    watchdog.reset();
    { const LazyLink closed = std::move(link); }
    enterTreesCgroups(run, processes);
    sys(::shutdown(worker.get(), SHUT_WR), "tell the process that supplies pages");
    return watch(run, child, std::move(worker), processes);
}

}  // namespace

int lazyPages(Run& run) {
    // Verifies the images before the daemon listens: a restore that has connected creates resources, and then fails if
    // the daemon fails.
    IncomingImages incoming = openIncoming(run);
    LazyListener listener;
    if (!run.options.detached)
        return serve(run, incoming.images, std::move(listener));
    if (daemonize(run, "lazy pages")) {
        listener.leave();
        return 0;
    }
    int status = 1;
    try {
        status = serve(run, incoming.images, std::move(listener));
    } catch (const std::exception& error) {
        run.log.failure(error);
    }
    ::_exit(status);
}

}  // namespace criu::engine
