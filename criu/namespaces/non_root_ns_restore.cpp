// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/non_root_ns_restore.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string_view>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/ns_ids.hpp"

namespace criu::namespaces {
namespace {

void put(const UniqueFd& made, const UniqueFd& place) {
    sys(::dup3(made.get(), place.get(), O_CLOEXEC), "hold a namespace");
}

/// Runs `work` in a temporary child process that shares the descriptor table. If `work` throws an exception, throws
/// Error with the exception's text.
void withSameFiles(const Work& work) {
    constexpr std::size_t kLongest = 1024;
    const Mapping shared = Mapping::anonymous(kLongest, MAP_SHARED);
    auto* const problem = shared.as<char>();
    clone_args args{};
    args.flags = CLONE_FILES;
    const pid_t parent = ::getpid();
    const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            ::_exit(1);                  // the parent was killed before the prctl(2) call
        const NoOuterContexts reported;  // the parent adds its error contexts to the message
        try {
            work();
            ::_exit(0);
        } catch (const std::exception& error) {
            std::string_view(error.what()).copy(problem, kLongest - 1);
        }
        ::_exit(1);
    }
    sys(child, "create a process that makes namespaces");
    int status = 0;
    while (::waitpid(child, &status, __WALL) < 0)
        if (errno != EINTR)
            failErrno("wait for the process that makes namespaces");
    if (*problem != '\0')
        fail("{}", problem);
    if (status != 0)
        fail("the process that makes namespaces ended with status {:#x}", static_cast<unsigned>(status));
}

}  // namespace

UniqueFd createInUserns(const UniqueFd& owner, kernel::NamespaceKind kind, const Work& create) {
    const int spaces[] = {owner.get()};
    return std::move(kernel::openInNamespaces(spaces, {}, [&] {
                         create();
                         std::map<int, UniqueFd> made;
                         made.emplace(0, kernel::openOwnNamespace(kind));
                         return made;
                     }).at(0));
}

NonRootNs::NonRootNs(kernel::NamespaceKind kind, const std::vector<std::uint32_t>& numbers,
                     const RestoreNsContext& nsContext)
    : kind_(kind), nsContext_(nsContext) {
    for (const std::uint32_t number : numbers)
        spaces_.push_back({number, UniqueFd(), UniqueFd()});
}

std::size_t NonRootNs::descriptors() const noexcept {
    return empty() ? 0 : spaces_.size() + 1;
}

void NonRootNs::prepare(kernel::FdStore& store) {
    if (empty())
        return;
    ofFirst_ = store.inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kind_));
    for (Space& space : spaces_)
        space.fd = store.inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kind_));
}

void NonRootNs::make(const std::function<bool(std::uint32_t number)>& create) {
    if (empty())
        return;
    put(kernel::openOwnNamespace(kind_), ofFirst_);
    for (const Space& space : spaces_)
        put(ofFirst_, space.fd);
    withSameFiles([&] {
        for (const Space& space : spaces_) {
            const ErrorContext context([&] {
                return fmt::format("{} namespace {} of the images", kernel::namespaceName(kind_), space.number);
            });
            if (const UniqueFd* const owner = nsContext_.ownerOf(space.number); owner != nullptr)
                put(createInUserns(*owner, kind_, [&] { (void)create(space.number); }), space.fd);
            else if (create(space.number))
                put(kernel::openOwnNamespace(kind_), space.fd);
        }
    });
}

void NonRootNs::provide(std::uint32_t number, const UniqueFd& made) const {
    if (const Space* const space = find(number); space != nullptr)
        put(made, space->fd);
}

void NonRootNs::fetch(const kernel::ProcPid& first) {
    for (Space& space : spaces_)
        space.fetched = first.open(fmt::format("fd/{}", space.fd.get()), O_RDONLY);
}

void NonRootNs::visit(std::uint32_t number, const Work& work) const {
    const ErrorContext context(
        [&] { return fmt::format("in the {} namespace {} of the images", kernel::namespaceName(kind_), number); });
    const int target = find(number)->fetched.get();
    kernel::runInThread([&] {
        sys(::setns(target, kernel::namespaceCloneFlag(kind_)), "enter it");
        work();
    });
}

void NonRootNs::enter(const model::Task& task) const {
    if (empty() || !task.ids)
        return;
    const Space* const space = find(numberOf(**task.ids, kind_).value_or(0));
    const std::uint32_t number = space != nullptr ? space->number : 0;
    if (number == current_)
        // Nothing to do, and the process may lack the capabilities to enter its current namespace (such as criu's)
        // again.
        return;
    const int target = space != nullptr ? space->fd.get() : ofFirst_.get();
    // If the descriptor still refers to the first process' namespace, no ancestor of this process has created the
    // wanted namespace yet (see make()).
    if (space != nullptr && kernel::namespaceInode(target) == kernel::namespaceInode(ofFirst_.get()))
        fail("{} namespace {} isn't there: the process that makes it isn't above this one",
             kernel::namespaceName(kind_), space->number);
    sys(::setns(target, kernel::namespaceCloneFlag(kind_)), "enter a {} namespace", kernel::namespaceName(kind_));
    current_ = number;
    entered_ = target;
}

void NonRootNs::follow() const {
    if (entered_ >= 0)
        sys(::setns(entered_, kernel::namespaceCloneFlag(kind_)), "have a thread enter a {} namespace",
            kernel::namespaceName(kind_));
}

const NonRootNs::Space* NonRootNs::find(std::uint32_t number) const noexcept {
    const auto found =
        std::find_if(spaces_.begin(), spaces_.end(), [number](const Space& space) { return space.number == number; });
    return found != spaces_.end() ? &*found : nullptr;
}

}  // namespace criu::namespaces
