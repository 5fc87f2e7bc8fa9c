// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/guarded.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_group.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/engine/rescue.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

using model::Stage;

/// Type of a message to the guardian with the cause of a failure (GuardReport). A type that isn't negative is the
/// number of a Stage. The guardian replies only to stages.
constexpr std::int32_t kReport = -1;
/// Type of a message to the guardian: the working process ends and hasn't reverted all its changes.
constexpr std::int32_t kAbandoned = -2;
/// Type of a message to the guardian: the work succeeded, and the guardian must end before the working process.
constexpr std::int32_t kDone = -3;
/// Type of a message to the guardian: the working process ends by itself, and has reverted its changes after a failure.
constexpr std::int32_t kEnds = -4;
/// Type of a message to the guardian with the warnings of the working process (GuardWarnings).
constexpr std::int32_t kWarnings = -5;

struct GuardReport {
    std::int32_t request = kReport;
    std::int32_t code = 0;
    std::array<char, 2000> text{};
    std::array<char, 200> advice{};
};

struct GuardWarnings {
    std::int32_t request = kWarnings;
    std::uint32_t count = 0;
    std::uint64_t losses = 0;
};

/// Reply of the guardian to a stage, after it has notified listeners. For Stage::QueryExtFiles, `status` is the number
/// of packets with text that follow.
struct Answer {
    std::int32_t status = 0;
    std::int32_t failed = 0;  ///< 1 if the notification failed; `text` has the reason
    std::array<char, 500> text{};
};

Answer answerTo(model::StageListeners& listeners, Stage stage, std::vector<std::string>* externals = nullptr) {
    Answer answer;
    try {
        if (externals != nullptr) {
            *externals = listeners.nameExternals();
            answer.status = static_cast<std::int32_t>(externals->size());
        } else {
            answer.status = listeners.notify(stage);
        }
    } catch (const std::exception& error) {
        answer.failed = 1;
        std::string_view(error.what()).copy(answer.text.data(), answer.text.size() - 1);
    }
    return answer;
}

UniqueFd copyOf(const UniqueFd& fd) noexcept {
    return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
}

/// Makes device subsystems revert device state after a failed dump, when the processes run again. Subsystems skip state
/// that they have already reverted. Needed for state that can't be reverted before the resume, and if the working
/// process was killed.
void rescueDevices(Run& run, UniqueFd imagesDir) {
    const ImageDir images(std::move(imagesDir), "the images directory");
    for (const auto& subsystem : run.devices)
        subsystem->rescue(run.log, images);
}

/// The guardian: waits for the end of the working process and handles its messages.
class GuardedWatch {
public:
    GuardedWatch(pid_t worker, UniqueFd channel, Run& run)
        : worker_(worker), process_(worker), channel_(std::move(channel)), run_(run) {}

    /// Returns the exit status of the command.
    int run() {
        for (;;) {
            pollfd events[] = {{process_.fd(), POLLIN, 0},
                               {stopPassedOn_ ? -1 : run_.stop.fd(), POLLIN, 0},
                               {channel_.get(), POLLIN, 0}};
            if (::poll(events, std::size(events), abandoned_ ? kAbandonedPause : -1) < 0) {
                // EINTR or ENOMEM: looks again, because the guardian must not end before the working process.
                constexpr std::chrono::milliseconds kPause{10};
                std::this_thread::sleep_for(kPause);
            }
            // Queries the stop request itself instead of its descriptor: a listener that waited for the descriptor may
            // have consumed the signal.
            if (!stopPassedOn_ && run_.stop.requested())
                passStopOn();
            // Handles messages before the exit status of the working process, because this process sent them before it
            // ended.
            if ((events[2].revents & POLLIN) != 0)
                serve();
            else if ((events[2].revents & (POLLHUP | POLLERR)) != 0)
                channel_.reset();
            if (done_)
                return 0;
            int status = 0;
            const bool heardAll = (events[2].revents & POLLIN) == 0 || !channel_;
            if (heardAll && events[0].revents != 0 && ::waitpid(worker_, &status, 0) == worker_) {
                run_.stop.stayBlocked();
                return exitCode(status);
            }
            if (abandoned_ && firstThreadHasEnded()) {
                run_.log.warn("Process {} of criu remains until a file system answers; it holds nothing of the tree",
                              worker_);
                run_.stop.stayBlocked();
                return exitCode(W_EXITCODE(1, 0));
            }
        }
    }

private:
    static constexpr int kAbandonedPause = 100;  // milliseconds

    /// Returns true if the tracer has ended; the tracer is the main thread of the working process. The kernel has then
    /// resumed the tree, even if another thread of this process is still blocked in a call that SIGKILL doesn't end.
    [[nodiscard]] bool firstThreadHasEnded() const {
        try {
            kernel::ProcBuffer buffer;
            return kernel::readStat(kernel::ProcDir().open(worker_), buffer).state == kernel::TaskState::Zombie;
        } catch (const Error&) {
            return true;
        }
    }

    /// Passes a stop request to the working process, which then reverts its changes. Consumes the request in the
    /// guardian, because a pending request would also stop listeners that help to revert.
    void passStopOn() noexcept {
        if (const int signal = run_.stop.take(); signal != 0) {
            ::kill(worker_, signal);
            stopPassedOn_ = true;
        }
    }

    int exitCode(int status) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !abandoned_)
            return 0;
        const bool broke = WIFSIGNALED(status) || (!ends_ && !lost_);
        if (WIFSIGNALED(status))
            run_.log.error("the process of criu that dumped was killed by signal {}", WTERMSIG(status));
        if (WIFEXITED(status) && broke && !abandoned_)
            run_.log.error("the process of criu that dumped was ended by a library, with status {}",
                           WEXITSTATUS(status));
        if (broke || abandoned_)
            revertJournal(run_.log);
        rescueDevices(run_, copyOf(run_.imagesDir));
        if (networkLocked_ && (abandoned_ || broke))
            (void)answerTo(run_.listeners, Stage::NetworkUnlock);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    void serve() {
        GuardReport message;
        const ssize_t size = ::recv(channel_.get(), &message, sizeof(message), MSG_DONTWAIT);
        const std::int32_t request = message.request;
        if (size == sizeof(message) && request == kReport) {
            message.text.back() = '\0';
            message.advice.back() = '\0';
            run_.log.noteCause({message.code, message.text.data(), message.advice.data()});
            return;
        }
        if (size == sizeof(GuardWarnings) && request == kWarnings) {
            GuardWarnings warnings;
            std::memcpy(static_cast<void*>(&warnings), static_cast<const void*>(&message), sizeof(warnings));
            run_.log.noteWarnings({warnings.count, warnings.losses});
            return;
        }
        if (size != sizeof(request)) {
            lost_ = size < 0 && errno != ECONNRESET;
            if (lost_)
                run_.log.error("receive a message of the process that does the work: {}", std::strerror(errno));
            channel_.reset();
            return;
        }
        if (request == kAbandoned) {
            abandoned_ = true;
            return;
        }
        if (request == kDone) {
            done_ = true;
            return;
        }
        if (request == kEnds) {
            ends_ = true;
            return;
        }
        const auto stage = static_cast<Stage>(request);
        std::vector<std::string> externals;
        const Answer answer = answerTo(run_.listeners, stage, stage == Stage::QueryExtFiles ? &externals : nullptr);
        if (stage == Stage::NetworkLock || stage == Stage::NetworkUnlock)
            networkLocked_ = stage == Stage::NetworkLock;
        bool heard = ::send(channel_.get(), &answer, sizeof(answer), MSG_NOSIGNAL) >= 0;
        for (const std::string& name : externals)
            heard = heard && ::send(channel_.get(), name.data(), name.size(), MSG_NOSIGNAL) >= 0;
        if (!heard) {
            lost_ = errno != EPIPE && errno != ECONNRESET;
            if (lost_)
                run_.log.error("reply to the process that does the work: {}", std::strerror(errno));
            channel_.reset();  // the working process has ended, or takes the end of the channel as a failure
        }
    }

    pid_t worker_;
    kernel::PidFd process_;
    UniqueFd channel_;
    Run& run_;
    bool stopPassedOn_ = false;
    bool abandoned_ = false;
    bool done_ = false;
    bool ends_ = false;
    bool lost_ = false;           ///< true if the guardian can't hear the working process any more
    bool networkLocked_ = false;  ///< true if listeners have locked the network and not unlocked it
};

/// Makes the kernel send SIGTERM (a stop request) to the working process when the guardian ends. If the guardian ended
/// before the prctl(2) call, the working process sends the signal to itself.
void stopWithGuardian(const kernel::PidFd& guardian) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (guardian.waitExit(std::chrono::milliseconds(0)))
        ::raise(SIGTERM);
}

}  // namespace

GuardedRoot::GuardedRoot(HostPid root) : process(root.value) {
    const kernel::ProcDir proc;
    const kernel::ProcPid dir = proc.open(root.value);
    try {
        ids = kernel::readNamespaceIds(dir);
    } catch (const Error& error) {
        // Ignored: if criu may not read the links, the dump later fails with a better message.
        if (error.code() != EACCES && error.code() != EPERM)
            throw;
    }
    home = kernel::readNamespaceIds(proc.self());
}

int Guardian::ask(Stage stage) {
    const auto request = static_cast<std::int32_t>(stage);
    if (::send(channel_.get(), &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
        failErrno("talk to the process that watches this one");
    Answer answer;
    if (receive(&answer, sizeof(answer)) != sizeof(answer))
        fail("the process that watches this one is gone");
    if (answer.failed != 0)
        fail("{}", answer.text.data());
    return answer.status;
}

std::size_t Guardian::receive(void* into, std::size_t size) {
    ssize_t got;
    do {
        got = ::recv(channel_.get(), into, size, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno != ECONNRESET)
        failErrno("receive an answer of the process that watches this one");
    return got < 0 ? 0 : static_cast<std::size_t>(got);
}

std::vector<std::string> Guardian::nameExternals() {
    if (!listeners_.namesExternals())
        return {};
    constexpr std::size_t kLongest = std::size_t{1} << 16;
    std::vector<std::string> all(static_cast<std::size_t>(ask(Stage::QueryExtFiles)));
    for (std::string& name : all) {
        name.resize(kLongest);
        name.resize(receive(name.data(), name.size()));
    }
    return all;
}

int Guardian::notify(Stage stage) {
    // If the guardian is dead, the working process itself notifies the listeners, so that they unlock the network.
    const bool alone = stage == Stage::NetworkUnlock && guardian_.waitExit(std::chrono::milliseconds(0));
    const int status = alone ? listeners_.notify(stage) : ask(stage);
    if (status != 0 && stage != Stage::NetworkUnlock)
        return status;
    return status | drivers_.notify(stage);
}

void Guardian::require(Stage stage) {
    model::requireConsent(stage, notify(stage));
}

void Guardian::report(const Log::Cause& cause) noexcept {
    GuardReport message;
    message.code = cause.code;
    std::string_view(cause.text).copy(message.text.data(), message.text.size() - 1);
    std::string_view(cause.advice).copy(message.advice.data(), message.advice.size() - 1);
    ::send(channel_.get(), &message, sizeof(message), MSG_NOSIGNAL);
}

void Guardian::reportWarnings(const Log::Warnings& warnings) noexcept {
    const GuardWarnings message{kWarnings, warnings.count, warnings.losses};
    ::send(channel_.get(), &message, sizeof(message), MSG_NOSIGNAL);
}

void Guardian::abandon() noexcept {
    ::send(channel_.get(), &kAbandoned, sizeof(kAbandoned), MSG_NOSIGNAL);
}

void Guardian::noteEnd() noexcept {
    ::send(channel_.get(), &kEnds, sizeof(kEnds), MSG_NOSIGNAL);
}

void Guardian::awaitGuardianEnd() noexcept {
    if (!outlives_)
        return;
    constexpr std::chrono::seconds kLimit{30};
    if (::send(channel_.get(), &kDone, sizeof(kDone), MSG_NOSIGNAL) == sizeof(kDone))
        (void)guardian_.waitExit(kLimit);
}

int runGuarded(Run& run, const GuardedRoot& root, const std::function<int(Guardian&)>& work) {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel to the process of the work");
    UniqueFd guardiansEnd(ends[0]);
    UniqueFd workersEnd(ends[1]);
    const kernel::PidFd guardian(::getpid());
    if (!run.options.dryRun)
        beginJournal(HostPid(root.process.pid()), run.log);
    const Log::Warnings before = run.log.warnings();
    const pid_t worker = ::fork();
    if (worker < 0) {
        const int code = errno;
        endJournal(run.log);
        failWith(code, "create the process that does the work");
    }
    if (worker == 0) {
        becomeProcessGroupLeader();
        stopWithGuardian(guardian);
        setProcessTitle(fmt::format("dump tree {}", root.process.pid()));
        guardiansEnd.reset();
        run.keys.lock();
        const NoOuterContexts reported;  // errors of this process must not contain the error context of the guardian
        run.log.beginProcess("criu: work");
        Guardian link(root, std::move(workersEnd), guardian, run.listeners, run.drivers);
        UniqueFd imagesDir = copyOf(run.imagesDir);  // `work` moves run.imagesDir away
        const int status = work(link);
        // The guardian also does this after a failure, but may be dead. A dry run succeeds and reverts device state.
        if (status != 0 || run.options.dryRun)
            rescueDevices(run, std::move(imagesDir));
        run.log.endStages();
        endJournal(run.log);
        const Log::Warnings now = run.log.warnings();
        link.reportWarnings({now.count - before.count, now.losses});
        if (status == 0)
            link.awaitGuardianEnd();
        link.noteEnd();
        ::_exit(status);
    }
    workersEnd.reset();
    int status = 0;
    try {
        status = GuardedWatch(worker, std::move(guardiansEnd), run).run();
    } catch (...) {
        // Waits until the working process has reverted its changes.
        ::kill(worker, SIGTERM);
        while (::waitpid(worker, nullptr, 0) < 0 && errno == EINTR) {
        }
        throw;
    }
    run.log.journal().close();  // a service may run other commands with this log
    return status;
}

}  // namespace criu::engine
