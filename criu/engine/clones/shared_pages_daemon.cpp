// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/clones/shared_pages_daemon.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "criu/base/descriptors.hpp"
#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_group.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/clones/shared_pages_service.hpp"
#include "criu/engine/lazy/lazy_link.hpp"
#include "criu/engine/lazy/lazy_processes.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/daemon_process.hpp"
#include "criu/kernel/proc/pidfd.hpp"

namespace criu::engine {
namespace {

/// Closes all descriptors that the daemon has inherited from the restore, except the images and a log file.
void leaveRestore(SharedPagesStart& start) {
    start.supply.reset(start.directory.supplyDescriptor());
    detachFromCommand();
    start.stop.forget();
    std::vector<int> kept = start.place.descriptors();
    kept.push_back(start.client.get());
    if (start.supply)
        kept.push_back(start.supply.get());
    for (const ImageDir* directory = &start.directory; directory != nullptr; directory = directory->parent())
        kept.push_back(directory->fd());
    const int log = start.log.fd();
    const bool keeps = keepsLog(start.log);
    if (keeps)
        kept.push_back(log);
    closeStandardStreams(kept);
    closeAllExcept(kept);
    if (!keeps && log > STDERR_FILENO)
        start.log.move([](UniqueFd closed) {
            (void)closed.release();
            return UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        });
}

/// Watchdog process of the daemon. It has copies of the daemon's descriptors, and kills the clones if the daemon fails
/// or is killed.
class WorkerMonitor {
public:
    WorkerMonitor(pid_t worker, UniqueFd reports, Log& log) : worker_(worker), link_(std::move(reports)), log_(log) {}

    int run(StopRequest& stop) {
        for (;;) {
            std::vector<pollfd> events{{worker_.fd(), POLLIN, 0}, {heard_ ? link_.fd() : -1, POLLIN, 0}};
            for (const LazyProcess& process : processes_.all())
                events.push_back({process.process.fd(), POLLIN, 0});
            if (::poll(events.data(), events.size(), -1) < 0 && errno != EINTR)
                failErrno("wait for process {}", worker_.pid());
            if (events[1].revents != 0)
                hear(stop);
            else if (events[0].revents != 0)
                return end();
            processes_.dropEnded();
        }
    }

private:
    void hear(StopRequest& stop) {
        UniqueFd fd;
        const auto message = link_.receive(fd, stop);
        heard_ = message.has_value();
        if (!message)
            return;
        if (message->kind == LazyMessage::Kind::Memory)
            memory_ = std::move(fd);
        else if (message->kind == LazyMessage::Kind::Process && fd)
            processes_.add(
                {TreePid(message->inside), std::move(memory_), kernel::PidFd(std::move(fd), message->outside)});
    }

    int end() {
        int status = 0;
        if (::waitpid(worker_.pid(), &status, 0) == worker_.pid() && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return 0;
        log_.error("the shared-pages daemon has ended before its clones");
        processes_.end(log_);
        return 1;
    }

    kernel::PidFd worker_;
    LazyLink link_;
    Log& log_;
    UniqueFd memory_;
    LazyProcesses processes_;
    bool heard_ = true;
};

int keep(SharedPagesStart& start) {
    auto [reading, writing] = makeChannel();
    const pid_t worker = sys(::fork(), "create the process that serves clones");
    if (worker == 0) {
        reading.reset();
        becomeProcessGroupLeader();
        setProcessTitle("clones: supply");
        ::_exit(serveSharedPages(std::move(start), std::move(writing)));
    }
    writing.reset();
    start.client.reset();
    start.supply.reset();
    const int status = WorkerMonitor(worker, std::move(reading), start.log).run(start.stop);
    start.place.remove();
    return status;
}

}  // namespace

bool keepsLog(const Log& log) noexcept {
    struct stat state {};
    return log.fd() >= 0 && ::fstat(log.fd(), &state) == 0 && S_ISREG(state.st_mode);
}

void runSharedPagesDaemon(SharedPagesStart start) {
    int status = 1;
    try {
        leaveRestore(start);
        setProcessTitle("clones: watch");
        status = keep(start);
    } catch (const std::exception& error) {
        start.log.failure(error);
    }
    ::_exit(status);
}

}  // namespace criu::engine
