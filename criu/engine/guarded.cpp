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

#include <compel/process.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/status.hpp"

namespace criu::engine {
namespace {

using model::Stage;

/// What the working process asks the guardian for: to notify listeners of the Stage that has this number, or to end the
/// root (kEndNamespace).
constexpr std::int32_t kEndNamespace = -1;

/// How long the end of a whole pid namespace may take: its memory may be large, and slow to free.
constexpr std::chrono::minutes kLongestEnd{10};

/// The guardian's answer to a request: one packet.
struct Answer {
    std::int32_t status = 0;
    std::int32_t failed = 0;  ///< 1: `text` says why
    std::array<char, 500> text{};
};

Answer answerTo(model::StageListeners& listeners, Stage stage) {
    Answer answer;
    try {
        answer.status = listeners.notify(stage);
    } catch (const std::exception& error) {
        answer.failed = 1;
        std::string_view(error.what()).copy(answer.text.data(), answer.text.size() - 1);
    }
    return answer;
}

/// While it lives, children of the calling thread are born in another pid namespace. setns(2) of a pid namespace never
/// moves the caller itself, only its future children (pid_namespaces(7)).
class ChildrenInNamespace {
public:
    /// `space`: none for criu's own.
    explicit ChildrenInNamespace(const UniqueFd& space) {
        if (!space)
            return;
        home_ = kernel::openOwnNamespace(kernel::NamespaceKind::Pid);
        sys(::setns(space.get(), CLONE_NEWPID), "enter the pid namespace of the tree");
    }
    ~ChildrenInNamespace() {
        if (home_)
            ::setns(home_.get(), CLONE_NEWPID);
    }
    ChildrenInNamespace(const ChildrenInNamespace&) = delete;
    ChildrenInNamespace& operator=(const ChildrenInNamespace&) = delete;

private:
    UniqueFd home_;
};

/// The guardian's side: it waits for the end of the working process, and does for it meanwhile what is asked for.
class Watch {
public:
    Watch(pid_t worker, UniqueFd channel, Run& run, const GuardedRoot& root)
        : worker_(worker), process_(worker), channel_(std::move(channel)), run_(run), root_(root) {}

    /// Returns the exit status of the command.
    int run() {
        for (;;) {
            pollfd events[] = {{process_.fd(), POLLIN, 0},
                               {stopPassedOn_ ? -1 : run_.stop.fd(), POLLIN, 0},
                               {channel_.get(), POLLIN, 0}};
            if (::poll(events, std::size(events), -1) < 0 && errno != EINTR)
                failErrno("wait for process {}", worker_);
            if (events[1].revents != 0)
                passStopOn();
            // Requests come first: one that came before the end is answered before it counts.
            if ((events[2].revents & POLLIN) != 0)
                serve();
            else if ((events[2].revents & (POLLHUP | POLLERR)) != 0)
                channel_.reset();
            int status = 0;
            if (events[0].revents != 0 && ::waitpid(worker_, &status, 0) == worker_) {
                run_.stop.stayBlocked();
                return rootKilled_ ? awaitRoot() : exitCode(status);
            }
        }
    }

private:
    /// The working process undoes what it has done. Here the request is done with, so that it doesn't break off
    /// listeners that take part in that.
    void passStopOn() noexcept {
        try {
            run_.stop.throwIfRequested();
        } catch (const Error&) {
            ::kill(worker_, SIGTERM);
            stopPassedOn_ = true;
        }
    }

    [[nodiscard]] int awaitRoot() {
        if (root_.process.waitExit(kLongestEnd))
            return 0;
        run_.log.warn("the root of the tree, process {}, hasn't ended yet", root_.process.pid());
        return 1;
    }

    int exitCode(int status) {
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        run_.log.error("the process of criu that dumped was killed by signal {}{}", WTERMSIG(status),
                       root_.pidNamespace ? ": the root of the tree may have ended" : "");
        for (const auto& subsystem : run_.devices)
            subsystem->rescue(run_.log);
        if (networkLocked_)
            (void)answerTo(run_.listeners, Stage::NetworkUnlock);
        return 128 + WTERMSIG(status);
    }

    void serve() {
        std::int32_t request = 0;
        if (::recv(channel_.get(), &request, sizeof(request), MSG_DONTWAIT) != sizeof(request)) {
            channel_.reset();
            return;
        }
        if (request == kEndNamespace) {
            rootKilled_ = true;
            root_.process.sendSignal(SIGKILL);
            return;
        }
        const auto stage = static_cast<Stage>(request);
        const Answer answer = answerTo(run_.listeners, stage);
        if (stage == Stage::NetworkLock || stage == Stage::NetworkUnlock)
            networkLocked_ = stage == Stage::NetworkLock;
        if (::send(channel_.get(), &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            channel_.reset();  // nobody wants to know any more
    }

    pid_t worker_;
    kernel::PidFd process_;
    UniqueFd channel_;
    Run& run_;
    const GuardedRoot& root_;
    bool stopPassedOn_ = false;
    bool rootKilled_ = false;
    bool networkLocked_ = false;  ///< listeners have been asked to lock the network, and not yet to unlock it
};

/// The working process gets SIGTERM, which it takes as a request to stop, when the thread that forked it ends. That
/// setting (prctl(2), PR_SET_PDEATHSIG) isn't inherited over fork, so a guardian that ended before the setting took
/// effect is looked for afterwards.
void stopWithGuardian(const kernel::PidFd& guardian) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (guardian.waitExit(std::chrono::milliseconds(0)))
        ::raise(SIGTERM);
}

}  // namespace

GuardedRoot::GuardedRoot(HostPid root) : process(root.value) {
    const kernel::ProcDir proc;
    const kernel::ProcPid dir = proc.open(root.value);
    kernel::ProcBuffer buffer;
    const kernel::TaskStatus status = kernel::readStatus(dir, buffer);
    inside = status.nsPid.empty() ? root : HostPid(status.nsPid.back());
    try {
        ids = kernel::readNamespaceIds(dir);
    } catch (const Error& error) {
        // Without the right to look, nothing else will be allowed either, and that is reported where it is tried.
        if (error.code() != EACCES && error.code() != EPERM)
            throw;
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
    // In a new mount namespace mounts are still peers of those they were copied from (mount_namespaces(7)): what is
    // mounted on a shared one would appear outside, too.
    sys(::mount(nullptr, "/proc", nullptr, MS_PRIVATE, nullptr), "make /proc private");
    sys(::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr),
        "mount the /proc of the tree's pid namespace");
}

int Guardian::ask(std::int32_t request) {
    if (::send(channel_.get(), &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
        failErrno("talk to the process that watches this one");
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

int Guardian::notify(Stage stage) {
    // A guardian that was killed can't take back what it has locked: then this is the only process left to do it.
    const bool alone = stage == Stage::NetworkUnlock && guardian_.waitExit(std::chrono::milliseconds(0));
    const int status = alone ? listeners_.notify(stage) : ask(static_cast<std::int32_t>(stage));
    if (status != 0 && stage != Stage::NetworkUnlock)
        return status;
    return status | drivers_.notify(stage);
}

void Guardian::require(Stage stage) {
    model::requireConsent(stage, notify(stage));
}

void Guardian::endNamespace() {
    (void)ask(kEndNamespace);
    fail("the root of the tree wasn't ended");
}

int runGuarded(Run& run, const GuardedRoot& root, const std::function<int(Guardian&)>& work) {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel to the process of the work");
    UniqueFd guardiansEnd(ends[0]);
    UniqueFd workersEnd(ends[1]);
    const kernel::PidFd guardian(::getpid());
    pid_t worker = 0;
    {
        const ChildrenInNamespace children(root.pidNamespace);
        worker = sys(::fork(), "create the process that does the work");
    }
    if (worker == 0) {
        stopWithGuardian(guardian);
        setProcessTitle(fmt::format("dump tree {}", root.process.pid()));
        guardiansEnd.reset();
        const NoOuterContexts reported;  // by this process itself
        Guardian link(root, std::move(workersEnd), guardian, run.listeners, run.drivers);
        ::_exit(work(link));
    }
    workersEnd.reset();
    return Watch(worker, std::move(guardiansEnd), run, root).run();
}

}  // namespace criu::engine
