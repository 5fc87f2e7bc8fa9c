// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/guarded.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/status.hpp"

namespace criu::engine {
namespace {

constexpr std::int32_t kEndNamespace = -1;  // any other request is a Stage
/// Its memory may be large, and slow to free.
constexpr std::chrono::minutes kLongestEnd{10};

struct Answer {
    std::int32_t status = 0;
    std::int32_t failed = 0;  ///< 1: `text` says why
    std::array<char, 500> text{};
};

void sendWhole(int fd, const void* data, std::size_t size) {
    const ssize_t sent = ::send(fd, data, size, MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(size))
        failErrno("talk to the other process of criu");
}

Answer answerTo(ActionScripts& scripts, Stage stage) {
    Answer answer;
    std::string problem;
    try {
        answer.status = scripts.run(stage);
        return answer;
    } catch (const std::exception& error) {
        problem = error.what();
    }
    answer.failed = 1;
    problem.copy(answer.text.data(), answer.text.size() - 1);
    return answer;
}

/// The calling thread's children are born in another pid namespace while this lives.
class BornElsewhere {
public:
    explicit BornElsewhere(const UniqueFd& space) {
        if (!space)
            return;
        home_ = kernel::openOwnNamespace(kernel::NamespaceKind::Pid);
        sys(::setns(space.get(), CLONE_NEWPID), "enter the pid namespace of the tree");
    }
    ~BornElsewhere() {
        if (home_)
            ::setns(home_.get(), CLONE_NEWPID);
    }
    BornElsewhere(const BornElsewhere&) = delete;
    BornElsewhere& operator=(const BornElsewhere&) = delete;

private:
    UniqueFd home_;
};

/// The side that watches.
class Watch {
public:
    Watch(pid_t worker, UniqueFd channel, StopRequest& stop, ActionScripts& scripts, const GuardedRoot& root, Log& log)
        : worker_(worker),
          process_(worker),
          channel_(std::move(channel)),
          stop_(stop),
          scripts_(scripts),
          root_(root),
          log_(log) {}

    int run() {
        for (;;) {
            pollfd events[] = {
                {process_.fd(), POLLIN, 0}, {passedOn_ ? -1 : stop_.fd(), POLLIN, 0}, {channel_.get(), POLLIN, 0}};
            if (::poll(events, std::size(events), -1) < 0 && errno != EINTR)
                failErrno("wait for process {}", worker_);
            if (events[1].revents != 0) {
                takeStop();
                ::kill(worker_, SIGTERM);
                passedOn_ = true;
            }
            if ((events[2].revents & POLLIN) != 0)
                serve();
            else if ((events[2].revents & (POLLHUP | POLLERR)) != 0)
                channel_.reset();
            int status = 0;
            if (events[0].revents != 0 && ::waitpid(worker_, &status, 0) == worker_) {
                stop_.settle();
                return ended_ ? awaitEnd() : exitCode(status);
            }
        }
    }

private:
    /// From here on the request is quiet: scripts that undo something run to their end.
    void takeStop() noexcept {
        try {
            stop_.throwIfRequested();
        } catch (const Error&) {
            return;
        }
    }

    [[nodiscard]] int awaitEnd() {
        if (root_.process.waitExit(kLongestEnd))
            return 0;
        log_.warn("the root of the tree, process {}, hasn't ended yet", root_.process.pid());
        return 1;
    }

    int exitCode(int status) {
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        log_.error("the process of criu that dumped was killed by signal {}{}", WTERMSIG(status),
                   root_.pidNamespace ? ": the root of the tree may have ended" : "");
        if (locked_)
            (void)answerTo(scripts_, Stage::NetworkUnlock);
        return 128 + WTERMSIG(status);
    }

    void serve() {
        std::int32_t request = 0;
        if (::recv(channel_.get(), &request, sizeof(request), MSG_DONTWAIT) != sizeof(request)) {
            channel_.reset();
            return;
        }
        if (request == kEndNamespace) {
            ended_ = true;
            root_.process.sendSignal(SIGKILL);
            return;
        }
        const auto stage = static_cast<Stage>(request);
        const Answer answer = answerTo(scripts_, stage);
        if (stage == Stage::NetworkLock || stage == Stage::NetworkUnlock)
            locked_ = stage == Stage::NetworkLock;
        if (::send(channel_.get(), &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            channel_.reset();  // nobody wants to know any more
    }

    pid_t worker_;
    kernel::PidFd process_;
    UniqueFd channel_;
    StopRequest& stop_;
    ActionScripts& scripts_;
    const GuardedRoot& root_;
    Log& log_;
    bool passedOn_ = false;
    bool ended_ = false;
    bool locked_ = false;  ///< scripts have been asked to lock the network, and not yet to unlock it
};

}  // namespace

GuardedRoot::GuardedRoot(pid_t root) : process(root) {
    const kernel::ProcDir proc;
    const kernel::ProcPid dir = proc.open(root);
    kernel::ProcBuffer buffer;
    const kernel::TaskStatus status = kernel::readStatus(dir, buffer);
    inside = status.nsPid.empty() ? root : status.nsPid.back();
    try {
        ids = kernel::readNamespaceIds(dir);
    } catch (const Error& error) {
        if (error.code() != EACCES && error.code() != EPERM)
            throw;  // else nothing will be allowed, which is told when it is tried
    }
    home = kernel::readNamespaceIds(proc.self());
    if (ids.of(kernel::NamespaceKind::Pid) && ids.of(kernel::NamespaceKind::Pid) != home.of(kernel::NamespaceKind::Pid))
        pidNamespace = dir.open("ns/pid", O_RDONLY);
    if (!pidNamespace)
        inside = root;
}

void Guardian::mountProc() const {
    if (!isInside())
        return;
    sys(::unshare(CLONE_NEWNS), "make a mount namespace");
    // Nothing of it may come to those that share mounts with criu.
    sys(::mount(nullptr, "/proc", nullptr, MS_PRIVATE, nullptr), "make /proc private");
    sys(::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr),
        "mount the /proc of the tree's pid namespace");
}

int Guardian::ask(std::int32_t request) {
    sendWhole(channel_.get(), &request, sizeof(request));
    Answer answer;
    ssize_t got;
    do {
        got = ::recv(channel_.get(), &answer, sizeof(answer), 0);
    } while (got < 0 && errno == EINTR);
    if (got != sizeof(answer))
        fail("the process that watches this one is gone");
    if (answer.failed != 0)
        fail("{}", answer.text.data());
    return answer.status;
}

int Guardian::runScripts(Stage stage) {
    // Who was killed can't undo what it has done: then this is the only one left to.
    if (stage == Stage::NetworkUnlock && guardian_.waitExit(std::chrono::milliseconds(0)))
        return scripts_.run(stage);
    return ask(static_cast<std::int32_t>(stage));
}

void Guardian::requireScripts(Stage stage) {
    if (const int status = runScripts(stage); status != 0)
        fail("an action script failed at {} with status {}", stageName(stage), status);
}

void Guardian::endNamespace() {
    (void)ask(kEndNamespace);
    fail("the root of the tree wasn't ended");
}

int runGuarded(StopRequest& stop, ActionScripts& scripts, const GuardedRoot& root, Log& log,
               const std::function<int(Guardian&)>& work) {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel to the process of the work");
    UniqueFd own(ends[0]);
    UniqueFd theirs(ends[1]);
    const kernel::PidFd guardian(::getpid());
    pid_t worker = 0;
    {
        const BornElsewhere children(root.pidNamespace);
        worker = sys(::fork(), "create the process that does the work");
    }
    if (worker == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (guardian.waitExit(std::chrono::milliseconds(0)))
            ::raise(SIGTERM);  // it was gone before we could ask to be told
        own.reset();
        Guardian link(root, std::move(theirs), guardian, scripts);
        ::_exit(work(link));
    }
    theirs.reset();
    return Watch(worker, std::move(own), stop, scripts, root, log).run();
}

}  // namespace criu::engine
