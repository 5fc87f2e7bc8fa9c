// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/user/given_userns.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "criu/base/descriptors.hpp"
#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/namespaces/joined.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Result of the helper.
struct InsideReport {
    pid_t created = 0;  ///< pid of the first process; 0 if the helper failed
    int code = 0;
    char text[1000]{};
};

/// Kinds of namespaces that the helper enters before the user namespace, in which it has no right for namespaces that
/// belong to criu's user namespace.
constexpr NamespaceKind kEntered[] = {NamespaceKind::Net, NamespaceKind::Ipc, NamespaceKind::Uts, NamespaceKind::Time};

void enterUserns(const JoinedNamespaces& joined) {
    // Processes of the namespace may have CAP_SYS_PTRACE in it. They can't trace a process that isn't dumpable.
    sys(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "keep others from tracing a process that enters a user namespace");
    joined.enter(NamespaceKind::User);
}

/// Reads the id map of the namespace by a child process in it. Only another process can read it in ids of criu's user
/// namespace (uid_map(5)).
model::IdMap readIds(const JoinedNamespaces& joined) {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel to a child process");
    UniqueFd here(ends[0]);
    UniqueFd there(ends[1]);
    const pid_t child = sys(::fork(), "create a process that enters a user namespace");
    if (child == 0) {
        int code = 0;
        try {
            closeAllExcept({there.get(), joined.descriptor(NamespaceKind::User)});
            enterUserns(joined);
        } catch (const Error& error) {
            code = error.code();
        }
        (void)!::send(there.get(), &code, sizeof(code), MSG_NOSIGNAL);
        (void)::recv(there.get(), &code, sizeof(code), 0);
        ::_exit(0);
    }
    there.reset();
    struct Reaper {
        pid_t child;
        UniqueFd& channel;
        ~Reaper() {
            channel.reset();
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, __WALL);
        }
    } const reaper{child, here};
    int code = ECHILD;
    if (!kernel::waitForHelper(here.get(), child) ||
        ::recv(here.get(), &code, sizeof(code), 0) != static_cast<ssize_t>(sizeof(code)))
        fail("--join-ns user: the process that enters the user namespace doesn't answer");
    if (code != 0) {
        Error error(code, "--join-ns user: enter the user namespace");
        error.addHint("criu must run in a user namespace above it, with CAP_SYS_ADMIN");
        throw error;
    }
    return model::IdMap::ofProcess(kernel::ProcDir().open(child));
}

}  // namespace

GivenUserns::GivenUserns(const JoinedNamespaces& joined, bool asSibling)
    : joined_(joined), asSibling_(asSibling), report_(Mapping::anonymous(machinePageSize(), MAP_SHARED)) {
    static_assert(sizeof(InsideReport) <= 4096);
    ids_ = readIds(joined);
}

HostPid GivenUserns::createInside(const std::function<HostPid()>& create) const {
    auto* const report = new (report_.data()) InsideReport();
    const pid_t self = ::getpid();
    clone_args args{};
    // The first process gets the parent of the helper (CLONE_PARENT), which must be criu, or criu's parent.
    // criu's parent may reap the helper at any time, so that only CLONE_PIDFD gets a handle of it for certain.
    int handle = -1;
    args.flags = CLONE_PIDFD | (asSibling_ ? CLONE_PARENT : 0);
    args.pidfd = reinterpret_cast<std::uintptr_t>(&handle);
    args.exit_signal = asSibling_ ? 0 : SIGCHLD;
    const auto helper = sys(static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args))),
                            "create a process that enters a user namespace");
    if (helper == 0) {
        try {
            const NoOuterContexts reported;  // criu adds its error contexts to the text
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (!asSibling_ && ::getppid() != self)
                ::_exit(1);
            for (const NamespaceKind kind : kEntered)
                joined_.enter(kind);
            enterUserns(joined_);
            const HostPid created = create();
            report->created = created.value;
        } catch (const Error& error) {
            report->code = error.code();
            std::string_view(error.what()).copy(report->text, sizeof(report->text) - 1);
        } catch (const std::exception& error) {
            std::string_view(error.what()).copy(report->text, sizeof(report->text) - 1);
        }
        ::_exit(0);
    }
    const kernel::PidFd process(UniqueFd(handle), helper);
    const bool answers = process.waitExit(kernel::kHelperTimeout);
    if (!answers)
        process.sendSignal(SIGKILL);
    if (!asSibling_)
        (void)::waitpid(helper, nullptr, __WALL);
    if (!answers)
        fail(
            "--join-ns user: the process that enters the user namespace doesn't end; a process in this namespace may "
            "have stopped it");
    if (report->created == 0)
        failWith(report->code, "--join-ns user: {}",
                 report->text[0] != '\0' ? report->text : "the process that entered the user namespace was killed");
    return HostPid(report->created);
}

}  // namespace criu::namespaces
