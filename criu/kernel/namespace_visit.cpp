// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/namespace_visit.hpp"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "criu/base/descriptors.hpp"
#include "criu/base/error.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "criu/kernel/proc/pidfd.hpp"

namespace criu::kernel {
namespace {

/// Scope whose destructor enters the namespace `target` again.
class Return {
public:
    Return(int target, int flag) : target_(target), flag_(flag) {}
    // Ignores errors: the same call has succeeded before with the same credentials.
    ~Return() { ::setns(target_, flag_); }
    Return(const Return&) = delete;
    Return& operator=(const Return&) = delete;

private:
    int target_;
    int flag_;
};

}  // namespace

UniqueFd openOwnNamespace(NamespaceKind kind) {
    const std::string path = fmt::format("/proc/thread-self/ns/{}", namespaceName(kind));
    if (kind == NamespaceKind::Net && ::access(path.c_str(), F_OK) != 0) {
        // Uses a socket instead of /proc, because a task may have no /proc during a restore.
        const UniqueFd socket(sys(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "create a socket"));
        return UniqueFd(sys(::ioctl(socket.get(), SIOCGSKNS), "open the network namespace of a socket"));
    }
    return UniqueFd(sys(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open {}", path));
}

NamespaceVisit::NamespaceVisit(int target, NamespaceKind kind)
    : flag_(namespaceCloneFlag(kind)),
      home_(openOwnNamespace(kind)),
      target_(sys(::fcntl(target, F_DUPFD_CLOEXEC, 0), "copy the descriptor of a namespace")) {
    sys(::setns(target, flag_), "enter a {} namespace", namespaceName(kind));
}

NamespaceVisit::~NamespaceVisit() {
    ::setns(home_.get(), flag_);
}

void NamespaceVisit::inOriginalNamespace(const std::function<void()>& work) const {
    sys(::setns(home_.get(), flag_), "go back to criu's own namespace");
    const Return back(target_.get(), flag_);
    work();
}

void runInThread(const std::function<void()>& work) {
    std::exception_ptr failure;
    std::thread worker = startThread([&] {
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
    });
    worker.join();
    if (failure)
        rethrow(failure);
}

UniqueFd foreignOwnerUserns(int space) {
    UniqueFd owner(sys(::ioctl(space, NS_GET_USERNS), "find the user namespace that a namespace belongs to"));
    const UniqueFd own = openOwnNamespace(NamespaceKind::User);
    struct stat theirs {};
    struct stat ours {};
    sys(::fstat(owner.get(), &theirs), "stat a user namespace");
    sys(::fstat(own.get(), &ours), "stat the own user namespace");
    if (theirs.st_ino == ours.st_ino)
        owner.reset();
    return owner;
}

namespace {

/// Message from the child of openInNamespaces(): a descriptor with its number, or the text of an error.
struct Found {
    std::int32_t number = 0;
    std::int32_t failed = 0;
    std::array<char, 1000> text{};
};

std::span<const std::byte> bytesOf(const Found& found) {
    return std::as_bytes(std::span(&found, 1));
}

/// Makes this process undumpable, and closes all descriptors that it doesn't need. Tasks in the entered user namespace
/// may have CAP_SYS_PTRACE there, and some of them aren't frozen. To trace an undumpable process, a task needs
/// CAP_SYS_PTRACE in the user namespace in which that process called exec(2) (__ptrace_may_access(), kernel/ptrace.c).
void clearOwnDumpable(std::span<const int> spaces, std::span<const int> needed, int channel) {
    sys(::prctl(PR_SET_DUMPABLE, 0), "keep others from tracing a process that enters namespaces");
    std::vector<int> spared(spaces.begin(), spaces.end());
    spared.insert(spared.end(), needed.begin(), needed.end());
    spared.push_back(channel);
    closeAllExcept(std::move(spared));
}

/// Creates a child and returns only in the child, because setns(2) moves only later children into a pid namespace. The
/// kernel kills the child when the caller ends. The caller waits for the child and exits with the child's status.
void continueInChild() {
    const PidFd parent(::getpid());  // the child can't see its parent's pid in another pid namespace
    const pid_t child = sys(::fork(), "create a process in a pid namespace");
    if (child == 0) {
        sys(::prctl(PR_SET_PDEATHSIG, SIGKILL), "have a process end with its parent");
        if (parent.waitExit())
            ::_exit(1);  // the parent was killed before the prctl(2) call
        return;
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ::_exit(status == 0 ? 0 : 1);
}

[[noreturn]] void openAndSend(std::span<const int> spaces, std::span<const int> needed,
                              const std::function<std::map<int, UniqueFd>()>& work, int channel) {
    const NoOuterContexts reported;  // the parent adds its error contexts, which are the same, to the message
    setProcessTitle("open in namespaces");
    Found message;
    try {
        clearOwnDumpable(spaces, needed, channel);
        bool ofChildren = false;
        for (const int space : spaces) {
            sys(::setns(space, 0), "enter a namespace");
            ofChildren = ofChildren || ::ioctl(space, NS_GET_NSTYPE) == CLONE_NEWPID;
        }
        if (ofChildren)
            continueInChild();
        for (const auto& [number, fd] : work()) {
            message.number = number;
            sendMessage(channel, bytesOf(message), fd.get());
        }
        ::_exit(0);
    } catch (const std::exception& error) {
        message.failed = 1;
        std::string_view(error.what()).copy(message.text.data(), message.text.size() - 1);
    }
    ::send(channel, &message, sizeof(message), MSG_NOSIGNAL);
    ::_exit(1);
}

}  // namespace

bool waitForHelper(int channel, pid_t child, std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd waiting{channel, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            failErrno("wait for a child process");
        if (ready == 0)
            break;
    }
    ::kill(child, SIGKILL);
    return false;
}

std::map<int, UniqueFd> openInNamespaces(std::span<const int> spaces, std::span<const int> needed,
                                         const std::function<std::map<int, UniqueFd>()>& work,
                                         std::chrono::milliseconds patience) {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel to a child process");
    const UniqueFd here(ends[0]);
    UniqueFd there(ends[1]);
    const pid_t child = sys(::fork(), "create a process to open things in namespaces");
    if (child == 0)
        openAndSend(spaces, needed, work, there.get());
    there.reset();
    std::map<int, UniqueFd> opened;
    Found message;
    std::string problem;
    for (;;) {
        if (!waitForHelper(here.get(), child, patience)) {
            problem = fmt::format(
                "the process that opens files in namespaces has not answered for {} s; a process in these "
                "namespaces may have stopped it",
                patience.count() / 1000);
            break;
        }
        ReceivedMessage received = receiveMessage(here.get(), std::as_writable_bytes(std::span(&message, 1)));
        if (received.size != sizeof(message))
            break;
        message.text.back() = '\0';
        if (message.failed != 0)
            problem = message.text.data();
        else
            opened[message.number] = std::move(received.fd);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!problem.empty())
        fail("{}", problem);
    if (status != 0)
        fail("the process that was to open things in namespaces ended with status {:#x}",
             static_cast<unsigned>(status));
    return opened;
}

}  // namespace criu::kernel
