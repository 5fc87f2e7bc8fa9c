// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/clone_keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/clone_service.hpp"
#include "criu/engine/lazy_link.hpp"
#include "criu/engine/lazy_processes.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/limits.hpp"
#include "criu/kernel/pidfd.hpp"

namespace criu::engine {
namespace {

/// Of all descriptors that the calling process has, only these stay open; standard streams lead nowhere.
void closeAllBut(std::vector<int> kept) {
    std::sort(kept.begin(), kept.end());
    const UniqueFd nothing(sys(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard)
        if (!std::binary_search(kept.begin(), kept.end(), standard))
            sys(::dup2(nothing.get(), standard), "close standard streams");
    unsigned next = STDERR_FILENO + 1;
    for (const int fd : kept) {
        const auto number = static_cast<unsigned>(fd);
        if (number < next)
            continue;
        if (number > next)
            ::syscall(SYS_close_range, next, number - 1, 0);
        next = number + 1;
    }
    ::syscall(SYS_close_range, next, ~0U, 0);
}

bool isFile(int fd) noexcept {
    struct stat state {};
    return fd >= 0 && ::fstat(fd, &state) == 0 && S_ISREG(state.st_mode);
}

/// What is left of the restore: no descriptor of its caller's, no session, no blocked signal.
void leaveRestore(KeeperStart& start) {
    ::setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM})
        ::signal(number, SIG_DFL);
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    start.stop.forget();
    sys(::chdir("/"), "leave the work directory");
    std::vector<int> kept{start.listener.get(), start.client.get()};
    for (const ImageDir* directory = &start.directory; directory != nullptr; directory = directory->parent())
        kept.push_back(directory->fd());
    const int log = start.log.fd();
    const bool keepsLog = isFile(log);
    if (keepsLog)
        kept.push_back(log);
    closeAllBut(kept);
    if (!keepsLog && log > STDERR_FILENO)
        start.log.move([](UniqueFd closed) {
            (void)closed.release();
            return UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        });
    kernel::raiseFileLimit();  // each process has a descriptor here, and each file of pages
}

/// The process that holds what the other one holds, and ends the clones if that ends too early.
class Watch {
public:
    Watch(pid_t worker, UniqueFd reports, Log& log) : worker_(worker), link_(std::move(reports)), log_(log) {}

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
        log_.error("the keeper of clones has ended before them");
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

int keep(KeeperStart& start) {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel");
    UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const pid_t worker = sys(::fork(), "create the process that serves clones");
    if (worker == 0) {
        reading.reset();
        setProcessTitle("clones: supply");
        ::_exit(serveClones(std::move(start), std::move(writing)));
    }
    writing.reset();
    start.listener.reset();
    start.client.reset();
    return Watch(worker, std::move(reading), start.log).run(start.stop);
}

}  // namespace

void becomeKeeper(KeeperStart start) {
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
