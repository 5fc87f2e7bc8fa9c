// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/pid/new_pid_namespace.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/signals_blocked.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/mount/mount_copied.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/pid/pid_restore.hpp"
#include "criu/pie/namespace_init.hpp"

namespace criu::namespaces {
namespace {

/// Report of the namespace init about the creation of the root. `code` and `text` describe an error.
struct Report {
    bool created = false;
    int code = 0;
    char text[2048] = {};
};

/// Forks a namespace init, and returns in both processes. Calls clone3(2) directly, because fork(3) of libc would wait
/// for locks of other threads.
pid_t createInit(bool copiesMounts) {
    clone_args args{};
    args.flags = CLONE_NEWPID | (copiesMounts ? CLONE_NEWNS : 0);
    args.exit_signal = SIGCHLD;
    return sys(static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args))), "create a pid namespace");
}

/// Drops all capabilities of the namespace init except CAP_KILL. It needs CAP_KILL to forward signals to a root process
/// of any user.
void keepCapKill() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3]{};
    sys(static_cast<int>(::syscall(SYS_capget, &header, rights)), "read the capabilities of the init");
    rights[0].permitted &= 1U << CAP_KILL;
    rights[0].effective = rights[0].permitted;
    rights[0].inheritable = 0;
    rights[1] = {};
    sys(static_cast<int>(::syscall(SYS_capset, &header, rights)), "give up capabilities of the init");
}

class NewPidRestore final : public NamespaceRestore {
public:
    explicit NewPidRestore(const RestoreInputs& inputs)
        : nsContext_(inputs.nsContext),
          shellJob_(inputs.options.shellJob),
          copiesMounts_(copiesMounts(inputs)),
          log_(inputs.log) {}

    HostPid createFirstProcess(const std::function<HostPid()>& create) override {
        int ends[2];
        sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel to the init");
        channel_ = UniqueFd(ends[0]);
        UniqueFd other(ends[1]);
        const pid_t init = [&] {
            const SignalsBlocked none;  // the namespace init must not run criu's signal handlers
            const pid_t made = createInit(copiesMounts_);
            if (made == 0)
                live(std::move(other), create);
            return made;
        }();
        other.reset();
        try {
            const HostPid root = awaitRoot(init);
            log_.info("Process {} is the init of a new pid namespace", init);
            nsContext_.init = HostPid(init);
            return root;
        } catch (const std::exception&) {
            ::kill(init, SIGKILL);
            while (::waitpid(init, nullptr, __WALL) < 0 && errno == EINTR)
                ;
            throw;
        }
    }

    void commit() noexcept override {
        const char released = 1;
        // fails only if the namespace init has ended together with the tree
        (void)!::send(channel_.get(), &released, 1, MSG_NOSIGNAL);
        channel_.reset();
    }

private:
    /// Runs in the namespace init: creates the root, reports to the coordinator, and becomes the init.
    [[noreturn]] void live(UniqueFd channel, const std::function<HostPid()>& create) noexcept {
        Report report;
        try {
            channel_.reset();
            for (int number = 1; number < NSIG; ++number)
                ::signal(number, SIG_DFL);
            if (!shellJob_)
                ::setsid();  // the tree must not have criu's controlling terminal
            if (copiesMounts_)
                mountOwnProc();
            const HostPid root = create();
            sys(::chdir("/"), "leave the work directory");
            const int own = sys(::dup2(channel.get(), STDIN_FILENO), "keep the channel");
            (void)channel.release();
            ::close_range(STDIN_FILENO + 1, ~0U, 0);
            keepCapKill();
            report.created = true;
            sys(static_cast<int>(::send(own, &report, sizeof(report), MSG_NOSIGNAL)), "report that the root exists");
            pie::becomeNamespaceInit(root.value, own);
        } catch (const Error& error) {
            report = {false, error.code(), {}};
            std::string(error.what()).copy(report.text, sizeof(report.text) - 1);
        } catch (const std::exception& error) {
            std::string(error.what()).copy(report.text, sizeof(report.text) - 1);
        }
        (void)!::send(channel ? channel.get() : STDIN_FILENO, &report, sizeof(report), MSG_NOSIGNAL);
        ::_exit(1);
    }

    /// Waits for the report of the namespace init. Returns the host pid of the root, which is the init's only child.
    [[nodiscard]] HostPid awaitRoot(pid_t init) const {
        Report report;
        ssize_t got = 0;
        while ((got = ::recv(channel_.get(), &report, sizeof(report), 0)) < 0 && errno == EINTR)
            ;
        if (got != static_cast<ssize_t>(sizeof(report)))
            fail("the init of the new pid namespace has ended before the root was created");
        if (!report.created)
            throw Error(report.code, report.text);
        const kernel::ProcDir proc;
        kernel::ProcBuffer buffer;
        const std::vector<pid_t> children = kernel::readChildren(proc.open(init), init, buffer);
        if (children.size() != 1)
            fail("the init of the new pid namespace has {} children instead of the root", children.size());
        return HostPid(children.front());
    }

    RestoreNsContext& nsContext_;
    bool shellJob_;
    bool copiesMounts_;
    Log& log_;
    UniqueFd channel_;  ///< the namespace init ends the tree when this socket is closed before commit()
};

}  // namespace

bool getsNewPids(const RestoreInputs& inputs) {
    return inputs.options.newPidNamespace && !hasOwnPids(inputs);
}

bool rootIsInit(const RestoreInputs& inputs) {
    return inputs.tree.root().pid == TreePid(1);
}

std::unique_ptr<NamespaceRestore> makeNewPidRestore(const RestoreInputs& inputs) {
    return std::make_unique<NewPidRestore>(inputs);
}

}  // namespace criu::namespaces
