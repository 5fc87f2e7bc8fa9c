// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/user/nested_userns.hpp"

#include <fcntl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "criu/base/descriptors.hpp"
#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/ns_ids.hpp"

namespace criu::namespaces {
namespace {

/// Message of the process that owns a new user namespace to its creator. A descriptor of the namespace comes with it.
struct Answer {
    pid_t self = 0;  ///< pid of the owner process in /proc; 0 if the process failed
    std::array<char, 252> problem{};
};

std::span<std::byte> bytesOf(Answer& answer) {
    return std::as_writable_bytes(std::span(&answer, 1));
}

/// Returns the pid of the calling process in /proc, which may show another pid namespace.
pid_t numberInProc() {
    std::array<char, 16> text{};
    const auto length = sys(::readlink("/proc/self", text.data(), text.size()), "look for this process in /proc");
    pid_t number = 0;
    if (std::from_chars(text.data(), text.data() + length, number).ec != std::errc())
        fail("/proc/self is no number");
    return number;
}

/// Makes this process not dumpable, so that no process in the new user namespace can trace it. The owner of a user
/// namespace has all capabilities in it, including CAP_SYS_PTRACE. But to trace a process that isn't dumpable, a
/// process needs capabilities in the user namespace in which the program was started (__ptrace_may_access() in
/// kernel/ptrace.c). Must follow each change of credentials, because the kernel resets the flag then.
void clearOwnDumpable() {
    sys(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "keep others from tracing a process that makes a user namespace");
}

/// Creates a user namespace. It belongs to the uid of its creator. The uid and gid of the creator must have a mapping
/// in the parent namespace (create_user_ns() in kernel/user_namespace.c).
UniqueFd makeAsOwner(std::uint32_t owner, std::uint32_t group, int above) {
    clearOwnDumpable();
    if (above >= 0)
        sys(::setns(above, CLONE_NEWUSER), "enter the user namespace above");
    // Keeps the capabilities when the uid changes, because a map of uid 0 needs CAP_SETFCAP (Linux 5.12).
    sys(::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP), "keep capabilities");
    sys(::syscall(SYS_setresgid, group, group, group), "become group {}", group);
    sys(::syscall(SYS_setresuid, owner, owner, owner), "become user {}", owner);
    clearOwnDumpable();
    sys(::unshare(CLONE_NEWUSER), "make a user namespace as user {}", owner);
    clearOwnDumpable();
    return kernel::openOwnNamespace(kernel::NamespaceKind::User);
}

/// Runs in the process that creates a user namespace. The process ends when its creator closes the channel or ends.
[[noreturn]] void runUsernsOwner(std::uint32_t owner, std::uint32_t group, int above, int channel) {
    const NoOuterContexts reported;  // the creator adds its error contexts to the message
    Answer answer;
    UniqueFd made;
    try {
        closeAllExcept(above >= 0 ? std::vector{channel, above} : std::vector{channel});
        const pid_t self = numberInProc();
        made = makeAsOwner(owner, group, above);
        answer.self = self;
        kernel::sendMessage(channel, bytesOf(answer), made.get());
    } catch (const std::exception& error) {
        answer.self = 0;
        std::string_view(error.what()).copy(answer.problem.data(), answer.problem.size() - 1);
        ::send(channel, &answer, sizeof(answer), MSG_NOSIGNAL);
    }
    (void)::recv(channel, &answer, sizeof(answer), 0);
    ::_exit(0);
}

void writeMaps(const kernel::ProcPid& owner, const model::IdMap& ids) {
    if (const std::string users = ids.uidText(); !users.empty())
        owner.write("uid_map", users);
    if (ids.deniesSetgroups())
        owner.write("setgroups", "deny");  // not permitted after gid_map is written
    if (const std::string groups = ids.gidText(); !groups.empty())
        owner.write("gid_map", groups);
}

/// Writes the id maps from a process in the parent namespace, because the kernel requires this (map_write() in
/// kernel/user_namespace.c).
void writeMapsWithin(int above, pid_t owner, const model::IdMap& ids) {
    const int spaces[] = {above};
    (void)kernel::openInNamespaces(spaces, {}, [&] {
        writeMaps(kernel::ProcDir().open(owner), ids);
        return std::map<int, UniqueFd>();
    });
}

/// Maximum number of nested user namespaces, which the kernel limits to 32 levels.
constexpr std::size_t kMostLevels = 32;

}  // namespace

NestedUserns::NestedUserns(const ImageDir& images, const std::vector<std::uint32_t>& numbers,
                           const model::ProcessTree& tree) {
    for (const std::uint32_t number : numbers)
        add(images, number);
    // Refuses a shared descriptor table, because such a process can't close its own copies of descriptors.
    for (const auto& task : tree.tasks) {
        if (!task->alive() || spaceOf(*task) == nullptr)
            continue;
        if (task->files->users.size() > 1)
            fail("process {} shares its descriptors, and has a user namespace other than that of the tree", task->pid);
    }
}

/// Adds a namespace. Adds its parents first, because a parent may have no process in it.
void NestedUserns::add(const ImageDir& images, std::uint32_t number) {
    std::vector<Space> chain;
    for (std::uint32_t next = number; next != 0 && find(next) == nullptr; next = chain.back().place.parent) {
        const auto place = model::UserNsPosition::ofImage(images, next);
        if (!place)
            fail("{} doesn't say who owns the user namespace", imageName(ImageKind::Userns, next));
        if (chain.size() == kMostLevels)
            fail("user namespace {} is below more than {} others", number, kMostLevels);
        chain.push_back({next, model::IdMap::ofImage(images, next), *place, UniqueFd()});
    }
    std::move(chain.rbegin(), chain.rend(), std::back_inserter(spaces_));
}

void NestedUserns::prepare(kernel::FdStore& store) {
    for (Space& space : spaces_)
        space.fd = store.inherit(kernel::FdKey::Namespace,
                                 space.number == joined_ ? UniqueFd(sys(::fcntl(existing_, F_DUPFD_CLOEXEC, 0),
                                                                        "copy the descriptor of a user namespace"))
                                                         : kernel::openOwnNamespace(kernel::NamespaceKind::User));
}

void NestedUserns::make(const model::IdMap& above) const {
    for (const Space& space : spaces_) {
        if (space.number == joined_)
            continue;
        const ErrorContext context([&] { return fmt::format("user namespace {} of the images", space.number); });
        make(space, above);
    }
}

void NestedUserns::make(const Space& space, const model::IdMap& ofTree) const {
    const Space* const parent = space.place.parent != 0 ? find(space.place.parent) : nullptr;
    const int above = parent != nullptr ? parent->fd.get() : -1;
    const std::uint32_t group = (parent != nullptr ? parent->ids : ofTree).firstGid();
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel to a child process");
    UniqueFd here(ends[0]);
    UniqueFd there(ends[1]);
    const pid_t child = sys(::fork(), "create a process that makes a user namespace");
    if (child == 0) {
        here.reset();  // closeAllExcept() keeps descriptors 0 to 2, and this one may have such a number
        runUsernsOwner(space.place.owner, group, above, there.get());
    }
    there.reset();
    Answer answer;
    // Waits with a time limit: another user owns the process, and may have stopped it.
    kernel::ReceivedMessage received;
    if (kernel::waitForHelper(here.get(), child))
        received = kernel::receiveMessage(here.get(), bytesOf(answer));
    answer.problem.back() = '\0';
    if (received.size == sizeof(answer) && answer.self > 0) {
        if (parent != nullptr)
            writeMapsWithin(above, answer.self, space.ids);
        else
            writeMaps(kernel::ProcDir().open(answer.self), space.ids);
        sys(::dup3(received.fd.get(), space.fd.get(), O_CLOEXEC), "hold a namespace");
    }
    here.reset();
    ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
    }
    if (received.size != sizeof(answer) || answer.self <= 0)
        fail("{}", answer.problem.front() != '\0' ? answer.problem.data()
                                                  : "the process that was to make a user namespace has ended");
}

const NestedUserns::Space* NestedUserns::find(std::uint32_t number) const {
    const auto found =
        std::find_if(spaces_.begin(), spaces_.end(), [number](const Space& space) { return space.number == number; });
    return found != spaces_.end() ? &*found : nullptr;
}

const NestedUserns::Space* NestedUserns::spaceOf(const model::Task& task) const {
    return task.ids ? find(numberOf(**task.ids, kernel::NamespaceKind::User).value_or(0)) : nullptr;
}

const UniqueFd* NestedUserns::owning(std::uint32_t number) const {
    for (const Space& space : spaces_)
        if (std::find(space.place.owned.begin(), space.place.owned.end(), number) != space.place.owned.end())
            return &space.fd;
    return nullptr;
}

const UniqueFd* NestedUserns::of(const model::Task& task) const {
    const Space* const space = spaceOf(task);
    return space != nullptr ? &space->fd : nullptr;
}

}  // namespace criu::namespaces
