// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/peer.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/landlock.hpp"
#include "criu/kernel/peer_auth.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/task/security_label.hpp"

namespace criu::service {
namespace {

ucred credentialsOf(int socket) {
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    sys(::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size), "ask who the client is");
    return credentials;
}

std::vector<gid_t> groupsOf(int socket) {
    std::vector<gid_t> groups;
    socklen_t size = 0;
    while (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
        if (errno != ERANGE)
            failErrno("ask for the client's groups");
        groups.resize(size / sizeof(gid_t));  // with ERANGE, the kernel returns the necessary size
    }
    groups.resize(size / sizeof(gid_t));
    return groups;
}

/// Returns the process that connected; null if it has ended, or is in a pid namespace that criu can't see.
std::shared_ptr<const kernel::PidFd> processOf(int socket, pid_t pid) {
    if (pid == 0)
        return nullptr;
    std::optional<kernel::PidFd> process = engine::openPeer(socket, pid);
    return process ? std::make_shared<const kernel::PidFd>(std::move(*process)) : nullptr;
}

/// Throws Error (EPERM) for a thread that is more restricted than its user, because the rules of the service apply to
/// users.
void requireUnconfined(const kernel::TaskStatus& thread, const kernel::TaskStatus& own) {
    if (thread.seccomp.value_or(kernel::SeccompMode::Disabled) > own.seccomp.value_or(kernel::SeccompMode::Disabled) ||
        thread.seccompFilters.value_or(0) > own.seccompFilters.value_or(0))
        failWith(EPERM, "it is under seccomp, and criu would do for it what the filters may forbid");
    if (thread.noNewPrivs.value_or(false) && !own.noNewPrivs.value_or(false) && kernel::hasLandlock()) {
        Error error(EPERM, "it has no_new_privs, as processes in Landlock domains have");
        error.addHint("the kernel shows no Landlock domains; start the client without no_new_privs");
        throw error;
    }
}

/// Throws Error (EPERM) if any thread of the process is restricted, because all its threads share their memory.
void requireUnconfined(const kernel::ProcPid& process, pid_t pid) {
    const ErrorContext context([&] { return fmt::format("the client, process {}", pid); });
    kernel::ProcBuffer buffer;
    const kernel::ProcPid self = kernel::ProcDir().self();
    const kernel::TaskStatus own = kernel::readStatus(self, buffer);
    const std::optional<std::string> ownLabel = task::securityLabel(self);
    for (const pid_t thread : kernel::readThreads(process)) {
        requireUnconfined(kernel::readThreadStatus(process, thread, buffer), own);
        const std::optional<std::string> label = task::securityLabel(process.thread(thread));
        if (label && label != ownLabel && !task::isUnconfined(*label))
            failWith(EPERM, "it is confined as '{}', and criu isn't", *label);
    }
}

/// Reads the client's current state. The client may have executed a privileged program after it passed the socket to
/// another process. So criu grants capabilities only to root.
void describe(const ucred& credentials, const kernel::PidFd* process, model::Client& client) {
    if (credentials.pid == 0)
        failWith(EPERM, "the client is in a pid namespace that isn't seen from here");
    if (process == nullptr)
        failWith(ESRCH, "the client, process {}, has ended", credentials.pid);
    const kernel::ProcDir proc;
    const kernel::ProcPid dir = proc.open(credentials.pid);
    kernel::ProcBuffer buffer;
    const kernel::TaskStatus status = kernel::readStatus(dir, buffer);
    const auto users = kernel::readNamespaceId(dir, kernel::NamespaceKind::User);
    const auto pids = kernel::readNamespaceId(dir, kernel::NamespaceKind::Pid);
    // If the process hasn't ended by now, the file /proc/PID belonged to it.
    if (process->waitExit(std::chrono::milliseconds(0)))
        failWith(ESRCH, "the client, process {}, has ended", credentials.pid);
    if (users != kernel::readNamespaceId(proc.self(), kernel::NamespaceKind::User))
        failWith(EPERM, "the client, process {}, is in another user namespace than criu", credentials.pid);
    requireUnconfined(dir, credentials.pid);
    client.boundingSet = status.capBounding;
    if (credentials.uid == 0 && status.uid.effective == 0) {
        client.capabilities = status.capEffective;
        const kernel::TaskStatus own = kernel::readStatus(proc.self(), buffer);
        client.isOwner = own.uid.effective == 0 && (own.capEffective & ~status.capEffective) == 0;
    }
    // A client in another pid namespace couldn't trace processes that its namespace doesn't contain, because ptrace(2)
    // needs a pid of the caller's namespace.
    if (!client.isOwner && pids != kernel::readNamespaceId(proc.self(), kernel::NamespaceKind::Pid))
        failWith(EPERM, "the client, process {}, is in another pid namespace than criu", credentials.pid);
}

}  // namespace

UniqueFd Peer::copyOf(int fd) const {
    const ErrorContext context([&] { return fmt::format("fd {} of the client, process {}", fd, pid); });
    if (fd < 0)
        failWith(EBADF, "this is no descriptor");
    if (pid == 0)
        failWith(ESRCH, "the client is in a pid namespace that isn't seen from here");
    if (!process)
        failWith(ESRCH, "the client has ended");
    return process->getFd(fd);
}

Peer peerOf(int socket, Origin origin) {
    const ucred credentials = credentialsOf(socket);
    Peer peer{credentials.pid, origin, processOf(socket, credentials.pid), {}};
    peer.client.process = peer.process;
    // A client that executed criu has all privileges of criu, unless criu has file privileges such as set-user-id.
    if (origin == Origin::Client && ::getauxval(AT_SECURE) == 0)
        return peer;
    peer.client.isOwner = false;
    peer.client.uid = credentials.uid;
    peer.client.gid = credentials.gid;
    peer.client.groups = groupsOf(socket);
    describe(credentials, peer.process.get(), peer.client);
    return peer;
}

UniqueFd openClientsDirectory(const Peer& peer, int fd, bool written) {
    const UniqueFd copy = peer.copyOf(fd);
    const ErrorContext context([&] { return fmt::format("fd {} of the client, process {}", fd, peer.pid); });
    std::optional<kernel::FileRightsScope> rights;
    if (!peer.client.isOwner)
        rights.emplace(kernel::FileRights{peer.client.uid, peer.client.gid, peer.client.groups, {}, false, false});
    UniqueFd directory(sys(::openat(copy.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open this directory"));
    if (written && rights)
        sys(::faccessat(directory.get(), ".", W_OK | X_OK, AT_EACCESS), "write to this directory");
    return directory;
}

}  // namespace criu::service
