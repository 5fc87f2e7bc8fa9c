// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/further_restore.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/image_order.hpp"

namespace criu::namespaces {
namespace {

void put(const UniqueFd& made, const UniqueFd& place) {
    sys(::dup3(made.get(), place.get(), O_CLOEXEC), "hold a namespace");
}

ino_t inodeOf(int fd) {
    struct stat status {};
    sys(::fstat(fd, &status), "look at a namespace");
    return status.st_ino;
}

}  // namespace

FurtherNamespaces::FurtherNamespaces(kernel::NamespaceKind kind, const std::vector<std::uint32_t>& numbers)
    : kind_(kind) {
    for (const std::uint32_t number : numbers)
        spaces_.push_back({number, UniqueFd(), UniqueFd()});
}

std::size_t FurtherNamespaces::descriptors() const noexcept {
    return empty() ? 0 : spaces_.size() + 1;
}

void FurtherNamespaces::prepare(kernel::FdStore& store) {
    if (empty())
        return;
    ofFirst_ = store.inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kind_));
    for (Space& space : spaces_)
        space.fd = store.inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kind_));
}

void FurtherNamespaces::make(const std::function<bool(std::uint32_t number)>& create) {
    if (empty())
        return;
    put(kernel::openOwnNamespace(kind_), ofFirst_);
    for (const Space& space : spaces_) {
        put(ofFirst_, space.fd);
        const ErrorContext context(
            [&] { return fmt::format("{} namespace {} of the images", kernel::namespaceName(kind_), space.number); });
        if (create(space.number))
            put(kernel::openOwnNamespace(kind_), space.fd);
    }
    sys(::setns(ofFirst_.get(), kernel::namespaceCloneFlag(kind_)), "go back to the {} namespace of the first process",
        kernel::namespaceName(kind_));
}

void FurtherNamespaces::provide(std::uint32_t number, const UniqueFd& made) const {
    if (const Space* const space = find(number); space != nullptr)
        put(made, space->fd);
}

void FurtherNamespaces::fetch(const kernel::ProcPid& first) {
    for (Space& space : spaces_)
        space.fetched = first.open(fmt::format("fd/{}", space.fd.get()), O_RDONLY);
}

void FurtherNamespaces::visit(std::uint32_t number, const Work& work) const {
    const ErrorContext context(
        [&] { return fmt::format("in the {} namespace {} of the images", kernel::namespaceName(kind_), number); });
    const int target = find(number)->fetched.get();
    kernel::inOwnThread([&] {
        sys(::setns(target, kernel::namespaceCloneFlag(kind_)), "enter it");
        work();
    });
}

void FurtherNamespaces::enter(const model::Task& task) const {
    if (empty() || !task.ids)
        return;
    const Space* const space = find(numberOf(**task.ids, kind_).value_or(0));
    const int target = space != nullptr ? space->fd.get() : ofFirst_.get();
    // See make(): nobody above this process has made that one.
    if (space != nullptr && inodeOf(target) == inodeOf(ofFirst_.get()))
        fail("{} namespace {} isn't there: the process that makes it isn't above this one",
             kernel::namespaceName(kind_), space->number);
    sys(::setns(target, kernel::namespaceCloneFlag(kind_)), "enter a {} namespace", kernel::namespaceName(kind_));
}

const FurtherNamespaces::Space* FurtherNamespaces::find(std::uint32_t number) const noexcept {
    const auto found =
        std::find_if(spaces_.begin(), spaces_.end(), [number](const Space& space) { return space.number == number; });
    return found != spaces_.end() ? &*found : nullptr;
}

}  // namespace criu::namespaces
