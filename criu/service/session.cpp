// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/version.hpp"
#include "criu/engine/command.hpp"
#include "criu/kernel/probe/features.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/memory/pages/codec.hpp"
#include "criu/model/page_codec.hpp"
#include "criu/service/client_listener.hpp"
#include "criu/service/connection.hpp"
#include "criu/service/page_server_start.hpp"
#include "criu/service/request.hpp"

namespace criu::service {
namespace {

using options::Command;

constexpr int kFailure = 1;

CriuResp replyTo(const CriuReq& request, bool success) {
    CriuResp reply = CRIU_RESP__INIT;
    reply.type = request.type;
    reply.success = success ? 1 : 0;
    return reply;
}

/// Result of one run.
struct RunResult {
    bool success = false;
    int code = 0;                      ///< errno for the field cr_errno of the reply; 0 for none
    std::string text;                  ///< text for the field cr_errmsg; "" after a success
    HostPid root;                      ///< root of a restored tree; 0 after other commands
    std::vector<std::string> command;  ///< command of exec_cmd; empty if the request has none
    bool runsOn = false;               ///< true if the dumped tree runs or is stopped after the dump
};

class Session {
public:
    Session(UniqueFd socket, Origin origin, const SessionContext& context)
        : context_(context), connection_(std::move(socket)), peer_(peerOf(connection_.fd(), origin)) {}

    SessionEnd run() {
        for (bool first = true;; first = false) {
            context_.log.forgetCause();
            const auto request = receive();
            if (!request)
                return {first ? kProtocolError : 0, {}};
            if (preDumped_ && (*request)->type != CRIU_REQ_TYPE__PRE_DUMP && (*request)->type != CRIU_REQ_TYPE__DUMP)
                return refuse("only a pre-dump or a dump may come after a pre-dump");
            const SessionEnd end = answer(**request);
            if (!keepsConnection(**request) || end.status != 0)
                return end;
        }
    }

    /// Sends a failure for a message that isn't a request, or isn't allowed at this point. Returns the end of the
    /// session.
    SessionEnd refuse(const std::string& why) {
        const Error error(EBADRQC, why);
        context_.log.failure(error);
        CriuReq nothing = CRIU_REQ__INIT;
        nothing.type = CRIU_REQ_TYPE__EMPTY;
        replyFailure(nothing, EBADRQC, error.what());
        return {kProtocolError, {}};
    }

private:
    /// Waits for the next request; nullopt if the client has closed the connection.
    std::optional<Record<CriuReq>> receive() {
        if (peer_.client.isOwner)
            return connection_.receive(context_.stop);
        return connection_.receive({context_.stop, context_.requestLimit});
    }

    [[nodiscard]] static bool keepsConnection(const CriuReq& request) noexcept {
        return (request.has_keep_open != 0 && request.keep_open != 0) || request.type == CRIU_REQ_TYPE__PRE_DUMP;
    }

    /// Returns true for a request after which this process can handle another one.
    [[nodiscard]] static bool mayStayOpen(CriuReqType type) noexcept {
        switch (type) {
            case CRIU_REQ_TYPE__PAGE_SERVER:
            case CRIU_REQ_TYPE__PAGE_SERVER_CHLD:
            case CRIU_REQ_TYPE__CPUINFO_DUMP:
            case CRIU_REQ_TYPE__CPUINFO_CHECK:
            case CRIU_REQ_TYPE__FEATURE_CHECK:
            case CRIU_REQ_TYPE__VERSION:
            case CRIU_REQ_TYPE__PRE_DUMP:
                return true;
            default:
                return false;
        }
    }

    SessionEnd answer(const CriuReq& request) {
        if (keepsConnection(request) && !mayStayOpen(request.type))
            return refuse(fmt::format("a request of type {} is the last of its connection (criu_req.keep_open)",
                                      static_cast<int>(request.type)));
        switch (request.type) {
            case CRIU_REQ_TYPE__DUMP:
                return dump(request);
            case CRIU_REQ_TYPE__RESTORE:
                return restore(request);
            case CRIU_REQ_TYPE__CHECK:
                return simply(request, Command::Check, 0);
            case CRIU_REQ_TYPE__PRE_DUMP:
                preDumped_ = true;
                return simply(request, Command::PreDump, kProtocolError);
            case CRIU_REQ_TYPE__SINGLE_PRE_DUMP:
                return simply(request, Command::PreDump, kProtocolError);
            case CRIU_REQ_TYPE__CPUINFO_DUMP:
                return simply(request, Command::CpuinfoDump, 0);
            case CRIU_REQ_TYPE__CPUINFO_CHECK:
                return simply(request, Command::CpuinfoCheck, 0);
            case CRIU_REQ_TYPE__PAGE_SERVER:
            case CRIU_REQ_TYPE__PAGE_SERVER_CHLD:
                return pageServer(request);
            case CRIU_REQ_TYPE__FEATURE_CHECK:
                return checkFeatures(request);
            case CRIU_REQ_TYPE__VERSION:
                return version(request);
            case CRIU_REQ_TYPE__WAIT_PID:
                return waitForChild(request);
            default:
                return refuse(fmt::format("there is no request of type {}", static_cast<int>(request.type)));
        }
    }

    /// Runs a command. The result and the log contain all failures. `server` is used only for Command::PageServer.
    RunResult carryOut(const CriuReq& request, Command command, PageServerReport* server = nullptr) {
        RunResult result;
        // Container runtimes don't expect notifications during a pre-dump, and would take one for the reply.
        const bool notify = request.opts != nullptr && request.opts->notify_scripts != 0 && command != Command::PreDump;
        ClientListener listener(connection_, context_.stop, notify);
        warnOfUnknownFields(request, context_.log);
        std::optional<RequestedRun> run;
        try {
            run.emplace(makeRun(request, command, context_.base, peer_, connection_.fd()));
        } catch (const std::exception& error) {
            openClientsLog(request, peer_, context_.log);
            context_.log.failure(error);
            result.code = EBADRQC;
        }
        try {
            if (run) {
                std::vector<model::StageListener*> listeners{&listener};
                listener.setLimit(run->invocation.options.holdTimeout);
                if (server != nullptr)
                    server->take(run->invocation.options, listeners);
                const auto [status, text] = engine::execute(run->invocation, context_.log, context_.stop,
                                                            context_.makeDevices(), std::move(listeners), run->client);
                std::fwrite(text.data(), 1, text.size(), stdout);
                std::fflush(stdout);
                result.success = status == 0;
                result.command = run->invocation.options.execCommand;
                result.runsOn = run->invocation.options.finalState != model::FinalState::Default;
            }
        } catch (const std::exception& error) {
            context_.log.failure(error);
            result.code = context_.log.cause().code;
        }
        result.root = listener.root();
        if (!result.success)
            explain(result, listener.objection());
        return result;
    }

    void explain(RunResult& result, const std::string& objection) const {
        const Log::Cause& cause = context_.log.cause();
        result.text = !cause.text.empty() ? cause.text : objection;
        if (result.text.empty())
            result.text = "an action script has objected";
        if (result.code == 0)
            result.code = cause.code;
    }

    /// Returns the errno values that clients distinguish; 0 for other values, because clients then only check if the
    /// field exists.
    [[nodiscard]] static int errnoFor(const CriuReq& request, int code) noexcept {
        const bool known = code == EBADRQC || (code == ESRCH && request.type != CRIU_REQ_TYPE__RESTORE) ||
                           (code == EEXIST && request.type == CRIU_REQ_TYPE__RESTORE) || code == ENOTSUP;
        return known ? code : 0;
    }

    static void putFailure(CriuResp& reply, const CriuReq& request, int code, std::string& text) {
        reply.success = 0;
        reply.cr_errno = errnoFor(request, code);
        reply.has_cr_errno = reply.cr_errno != 0 ? 1 : 0;
        text.resize(cutToReply(text).size());
        reply.cr_errmsg = text.data();
    }

    bool send(const CriuResp& reply) noexcept {
        try {
            connection_.send(reply);
            return true;
        } catch (const std::exception& error) {
            context_.log.failure(error);
            return false;
        }
    }

    bool replyFailure(const CriuReq& request, int code, std::string text) {
        CriuResp reply = replyTo(request, false);
        putFailure(reply, request, code, text);
        return send(reply);
    }

    SessionEnd dump(const CriuReq& request) {
        const bool ofItself = request.opts != nullptr && (request.opts->has_pid == 0 || request.opts->pid == 0);
        setProcessTitle("dump for a client");
        RunResult result = carryOut(request, Command::Dump);
        // If the client has dumped itself and was killed, it gets the reply after its restore (UnixFlag::Service).
        if (result.success && ofItself && !result.runsOn)
            return {};
        CriuDumpResp dumped = CRIU_DUMP_RESP__INIT;
        dumped.has_restored = 1;
        CriuResp reply = replyTo(request, result.success);
        reply.dump = &dumped;
        if (!result.success)
            putFailure(reply, request, result.code, result.text);
        return {send(reply) && result.success ? 0 : kFailure, {}};
    }

    SessionEnd restore(const CriuReq& request) {
        setProcessTitle("restore for a client");
        RunResult result = carryOut(request, Command::Restore);
        CriuRestoreResp restored = CRIU_RESTORE_RESP__INIT;
        restored.pid = result.success ? result.root.value : -1;
        CriuResp reply = replyTo(request, result.success);
        reply.restore = &restored;
        if (!result.success)
            putFailure(reply, request, result.code, result.text);
        const bool told = send(reply);
        if (!result.success)
            return {kFailure, {}};
        return {told ? 0 : kFailure, std::move(result.command), result.root};
    }

    SessionEnd simply(const CriuReq& request, Command command, int failure) {
        const RunResult result = carryOut(request, command);
        const bool told =
            result.success ? send(replyTo(request, true)) : replyFailure(request, result.code, result.text);
        return {result.success && told ? 0 : failure, {}};
    }

    /// Starts a page server in a new process. For PAGE_SERVER_CHLD, the process is a child of this one, so that the
    /// client can wait for it. Replies when the server is ready. A server that fails sends the reason itself.
    SessionEnd pageServer(const CriuReq& request) {
        CriuReq pageServer = request;
        pageServer.type = CRIU_REQ_TYPE__PAGE_SERVER;  // clients expect this type in both replies
        const auto started = startPageServer(
            request.type == CRIU_REQ_TYPE__PAGE_SERVER_CHLD, context_.stop, [&](PageServerReport& report) {
                // Closes this copy, because the client wouldn't see the end of the connection while it is open.
                report.whenReady([this] { connection_.close(); });
                const RunResult result = carryOut(pageServer, Command::PageServer, &report);
                if (!result.success && !report.isReady())
                    replyFailure(pageServer, result.code, result.text);
                return result.success;
            });
        if (!started)
            return {kFailure, {}};
        CriuPageServerInfo info = CRIU_PAGE_SERVER_INFO__INIT;
        info.has_pid = info.has_port = 1;
        info.pid = started->pid;
        info.port = started->port;
        CriuResp reply = replyTo(pageServer, true);
        reply.ps = &info;
        return {send(reply) ? 0 : kFailure, {}};
    }

    /// Returns true if the library for LZ4 is installed.
    [[nodiscard]] static bool canCompress() noexcept {
        try {
            return memory::Codec::load(model::PageCodec::Lz4) != nullptr;
        } catch (const std::exception&) {
            return false;
        }
    }

    /// Replies with the results of `criu check --feature`.
    SessionEnd checkFeatures(const CriuReq& request) {
        // Treats a request without features as one with empty features, because go-criu fails if the reply has no
        // features.
        const CriuFeatures nothing = CRIU_FEATURES__INIT;
        const CriuFeatures& asked = request.features != nullptr ? *request.features : nothing;
        kernel::Features features;
        CriuFeatures found = CRIU_FEATURES__INIT;
        found.has_mem_track = found.has_lazy_pages = found.has_pidfd_store = found.has_mem_compression = 1;
        using enum kernel::Feature;
        if (asked.has_mem_track != 0 && asked.mem_track != 0)
            found.mem_track = features.has(DirtyTracking) ? 1 : 0;
        if (asked.has_lazy_pages != 0 && asked.lazy_pages != 0)
            found.lazy_pages = features.has(Uffd) && features.has(UffdNonCooperative) ? 1 : 0;
        if (asked.has_pidfd_store != 0 && asked.pidfd_store != 0)
            found.pidfd_store = features.has(PidfdStore) ? 1 : 0;
        if (asked.has_mem_compression != 0 && asked.mem_compression != 0)
            found.mem_compression = canCompress() ? 1 : 0;
        CriuResp reply = replyTo(request, true);
        reply.features = &found;
        return {send(reply) ? 0 : kFailure, {}};
    }

    SessionEnd version(const CriuReq& request) {
        CriuVersion version = CRIU_VERSION__INIT;
        version.major_number = kVersionMajor;
        version.minor_number = kVersionMinor;
        // Omits gitid: if it is set, clients such as go-criu assume the version of CRIU's next release.
        CriuResp reply = replyTo(request, true);
        reply.version = &version;
        return {send(reply) ? 0 : kFailure, {}};
    }

    SessionEnd waitForChild(const CriuReq& request) {
        const auto pid = static_cast<pid_t>(request.pid);
        int status = 0;
        try {
            status = waitForEnd(request.has_pid != 0 ? pid : 0);
        } catch (const Error& error) {
            context_.log.failure(error);
            return {replyFailure(request, error.code(), error.what()) ? 0 : kFailure, {}};
        }
        CriuResp reply = replyTo(request, true);
        reply.has_status = 1;
        reply.status = status;
        return {send(reply) ? 0 : kFailure, {}};
    }

    /// Waits until a child of this process has ended. Throws Error if a stop is requested, if the client has closed the
    /// connection, or, with ECHILD, if no child has this pid.
    int waitForEnd(pid_t pid) {
        const ErrorContext context([&] { return fmt::format("wait for process {}", pid); });
        siginfo_t info{};
        if (pid <= 0 || ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) < 0)
            failWith(ECHILD, "it is no child of criu");
        const kernel::PidFd child(pid);
        while (!waitReady(child.fd(), POLLIN, context_.stop, std::chrono::milliseconds(1000)))
            if (connection_.hasLeft())
                fail("the client has left");
        int status = 0;
        sys(::waitpid(pid, &status, 0), "reap it");
        return status;
    }

    const SessionContext& context_;
    Connection connection_;
    Peer peer_;
    bool preDumped_ = false;
};

/// Sends the client the reason why criu can't serve it. Waits for the client's request first: if criu closed the
/// connection before, the client would fail to send its request and wouldn't read the reply.
void sendRefusal(UniqueFd socket, const Error& error, const WaitLimit& limit) noexcept {
    try {
        Connection connection(std::move(socket));
        const auto request = connection.receive(limit);
        if (!request)
            return;
        std::string text(cutToReply(error.what()));
        CriuResp reply = replyTo(**request, false);
        reply.has_cr_errno = 1;
        reply.cr_errno = EPERM;
        reply.cr_errmsg = text.data();
        connection.send(reply);
    } catch (const std::exception&) {
        // Ignores the failure, because the log already contains the error. The client has closed the connection or
        // isn't valid.
    }
}

}  // namespace

SessionEnd serve(UniqueFd socket, Origin origin, const SessionContext& context) {
    std::optional<Session> session;
    UniqueFd spare(sys(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0), "copy the socket of a client"));
    try {
        session.emplace(std::move(socket), origin, context);
    } catch (const Error& error) {
        context.log.failure(error);
        sendRefusal(std::move(spare), error, {context.stop, context.requestLimit});
        return {kFailure, {}};
    }
    spare.reset();
    try {
        return session->run();
    } catch (const std::exception& error) {
        return session->refuse(error.what());
    }
}

}  // namespace criu::service
