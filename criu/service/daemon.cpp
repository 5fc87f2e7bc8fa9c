// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/daemon.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/action_scripts.hpp"
#include "criu/engine/progress.hpp"
#include "criu/kernel/names/pid_file.hpp"
#include "criu/kernel/names/socket_name.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/service/listening_socket.hpp"
#include "criu/service/served_clients.hpp"

namespace criu::service {
namespace {

/// Pipe by which the service tells its parent that it is ready. The parent waits for this, or for the end of the
/// service.
struct ReadyPipe {
    UniqueFd reading;
    UniqueFd writing;

    ReadyPipe() {
        int ends[2];
        sys(::pipe2(ends, O_CLOEXEC), "make a pipe");
        reading.reset(ends[0]);
        writing.reset(ends[1]);
    }
};

/// Redirects the standard streams of a background process to /dev/null.
void redirectStreamsToNull() {
    const UniqueFd null(sys(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        sys(::dup2(null.get(), stream), "leave fd {}", stream);
}

/// Creates a child with a new session, and returns only in the child. The calling process exits when the child is ready
/// or has failed. Returns the end of the pipe by which the child reports that it is ready.
UniqueFd daemonize() {
    ReadyPipe pipe;
    const pid_t child = sys(::fork(), "create the process of the service");
    if (child != 0) {
        pipe.writing.reset();
        char byte = 0;
        ssize_t got = 0;
        do
            got = ::read(pipe.reading.get(), &byte, 1);
        while (got < 0 && errno == EINTR);
        ::_exit(got == 1 ? 0 : 1);
    }
    ::setsid();
    return std::move(pipe.writing);
}

/// Returns the user who connected (SO_PEERCRED).
uid_t userOf(int client) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    sys(::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size), "look whose client connects");
    return peer.uid;
}

class Daemon {
public:
    explicit Daemon(const SessionContext& context) : with_(context) {}

    SessionEnd run() {
        const model::Options& options = with_.base.options;
        const std::string& directory = options.workDir.value_or(options.imagesDir);
        sys(::chdir(directory.c_str()), "enter the work directory {}", directory);
        with_.log.setLevel(options.verbosity);
        with_.log.open(options.logFile);
        std::optional<UniqueFd> passed = takePassedSocket();
        const std::string address = options.address.value_or(kDefaultAddress);
        socket_ = passed ? std::move(*passed) : listenAt(address);
        if (!passed)
            name_.emplace(address);
        begin(options);
        // Reaps children by their pidfds. The exit statuses don't matter, because logs contain the results.
        ::signal(SIGCHLD, SIG_DFL);
        for (;;) {
            std::optional<UniqueFd> client = accept();
            if (!client) {
                if (name_)
                    name_->remove(with_.log);
                return {};
            }
            const uid_t user = userOf(client->get());
            const bool logged = mayLog(user);
            if (!clients_.mayServe(user)) {
                if (logged)
                    with_.log.error("a client of user {} isn't served: too many clients are connected", user);
                continue;
            }
            const pid_t worker = ::fork();
            if (worker == 0)
                return work(std::move(*client), logged);
            if (worker > 0)
                addServed(worker, user, logged);
            else if (logged)
                with_.log.error("a client can't be served: no process for it: {}", ::strerror(errno));
        }
    }

private:
    /// Adds a new child to the table. Kills the child if criu has no descriptor left for it, because the limits then
    /// wouldn't apply to it.
    void addServed(pid_t worker, uid_t user, bool logged) {
        try {
            clients_.add(kernel::PidFd(worker), user);
        } catch (const Error& error) {
            ::kill(worker, SIGKILL);
            ::waitpid(worker, nullptr, 0);
            if (logged)
                with_.log.error("a client can't be served: {}", error.what());
        }
    }

    void begin(const model::Options& options) {
        UniqueFd ready = options.detached ? daemonize() : UniqueFd();
        engine::ActionScripts scripts(options.actionScripts, with_.stop, with_.log);
        model::requireConsent(model::Stage::StatusReady, scripts.reached({model::Stage::StatusReady, HostPid(), -1}));
        if (options.pidFile) {
            pidFile_.emplace(*options.pidFile, HostPid(::getpid()));
        }
        with_.log.info("Waiting for connection...");
        if (options.statusFd >= 0) {
            const UniqueFd status(options.statusFd);
            sys(::write(status.get(), "", 1), "write to fd {} of --status-fd", status.get());
        }
        if (!ready) {
            engine::showWait(options, "Service: waiting for clients. Ctrl-C ends it.");
            return;
        }
        redirectStreamsToNull();
        sys(::write(ready.get(), "", 1), "say that the service is ready");
    }

    /// Returns the socket of the next client; nullopt after a stop request.
    std::optional<UniqueFd> accept() {
        for (;;) {
            std::vector<pollfd> waiting{{socket_.get(), POLLIN, 0}, {with_.stop.fd(), POLLIN, 0}};
            clients_.appendTo(waiting);
            if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
                failErrno("wait for clients");
            if (with_.stop.requested())
                return std::nullopt;
            clients_.reapEnded();
            if (waiting[0].revents == 0)
                continue;
            UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (client) {
                sys(::fcntl(client.get(), F_SETFL, 0), "let a client wait");
                return client;
            }
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                // Waits until other processes free resources. Without a wait, the next accept4(2) would fail
                // immediately.
                with_.log.error("a client can't be served: {}", ::strerror(errno));
                constexpr int kPause = 100;  // milliseconds
                ::poll(&waiting[1], 1, kPause);
            } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
                failErrno("accept a client");
            }
        }
    }

    /// Returns false if a client of this user must not write to the log of the service. Logs when that begins.
    bool mayLog(uid_t user) {
        if (user == ::geteuid())
            return true;
        const LogBudget::Answer answer = budget_.take();
        if (answer == LogBudget::Answer::LastWords)
            with_.log.warn("Many clients of other users connect: only the first ones in each minute are logged");
        return answer == LogBudget::Answer::Log;
    }

    /// Serves a client. It runs in a child process.
    SessionEnd work(UniqueFd client, bool logged) {
        socket_.reset();
        clients_.clear();
        if (!logged)
            with_.log.openAs(UniqueFd(sys(::open("/dev/null", O_WRONLY | O_CLOEXEC), "open /dev/null")));
        if (pidFile_)
            pidFile_->commit();  // the daemon removes the file, not this child
        setProcessTitle("serve a client");
        with_.log.setElapsed(std::chrono::microseconds(0));
        options::Invocation builtIn;
        options::applyEnvironment(builtIn.options);
        return serve(std::move(client), Origin::Daemon,
                     {builtIn, with_.log, with_.stop, with_.makeDevices, requestLimit()});
    }

    /// Returns the maximum time until a request of a user other than criu's; nullopt for no limit.
    [[nodiscard]] std::optional<std::chrono::milliseconds> requestLimit() const {
        constexpr std::chrono::seconds kDefault{30};
        const model::Options& options = with_.base.options;
        const std::chrono::seconds limit = options.timeoutGiven ? options.timeout : kDefault;
        if (limit == std::chrono::seconds(0))
            return std::nullopt;
        return limit;
    }

    const SessionContext& with_;
    ServedClients clients_{::geteuid()};
    LogBudget budget_;
    UniqueFd socket_;
    std::optional<SocketName> name_;          ///< name of the socket; unset if systemd passed the socket
    std::optional<engine::PidFile> pidFile_;  ///< pid file, which is removed when the service ends
};

}  // namespace

SessionEnd runDaemon(const SessionContext& context) {
    return Daemon(context).run();
}

}  // namespace criu::service
