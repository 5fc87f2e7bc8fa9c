// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/network_restore.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/namespaces/image_order.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

}  // namespace

NetworkRestore::NetworkRestore(const model::Options& options, const JoinedNamespaces& joined, const ImageDir& images,
                               const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree,
                               const std::set<std::uint32_t>& others, Log& log)
    : log_(log),
      settingsRule_{options.weakSysctls, log},
      joined_(joined),
      empty_(options.emptyNetNs),
      number_(ownNumberOf(outside, tree, NamespaceKind::Net)),
      devices_(options, log) {
    if (joins())
        spaces_.push_back({number_, {}, {}, false});
    else if (wasOwn())
        spaces_.push_back({number_, NetworkContent(images, number_, empty_), {}, false});
    std::set<std::uint32_t> wanted = others;
    if (const auto own = outside != nullptr ? numberOf(*outside, NamespaceKind::Net) : std::nullopt)
        wanted.erase(*own);
    planOthers(images, std::move(wanted));
    devices_.check(devices());
}

/// Those that are known by those that are known are wanted, too.
void NetworkRestore::planOthers(const ImageDir& images, std::set<std::uint32_t> wanted) {
    const auto addKnown = [&](const Space& space) {
        if (space.content)
            for (const auto& [number, id] : space.content->ids())
                wanted.insert(number);
    };
    if (!spaces_.empty())
        addKnown(spaces_.front());
    wanted.erase(number_);
    for (;;) {
        const auto next =
            std::find_if(wanted.begin(), wanted.end(), [&](std::uint32_t number) { return find(number) == nullptr; });
        if (next == wanted.end())
            return;
        if (!wasOwn() || empty_)
            fail(
                "the images have a network namespace (number {}) besides that of the tree's root, which can't be "
                "restored {}",
                *next, empty_ ? "with --empty-ns" : "because the root is in that of criu");
        spaces_.push_back({*next, NetworkContent(images, *next, false), {}, false});
        addKnown(spaces_.back());
    }
}

bool NetworkRestore::isNew() const noexcept {
    return wasOwn() && !joins() && spaces_.front().content->externalName() == nullptr;
}

const NetworkRestore::Space* NetworkRestore::find(std::uint32_t number) const noexcept {
    const auto found =
        std::find_if(spaces_.begin(), spaces_.end(), [&](const Space& space) { return space.number == number; });
    return found != spaces_.end() ? &*found : nullptr;
}

std::vector<DevicesOf> NetworkRestore::devices() const {
    std::vector<DevicesOf> all;
    for (const Space& space : spaces_)
        all.push_back(
            {space.number, space.fd.get(),
             space.content ? std::span(space.content->devices()) : std::span<const Record<NetDeviceEntry>>()});
    return all;
}

UniqueFd NetworkRestore::openExternal(const Space& space, const Inherited& inherited) const {
    const char* const name = space.content->externalName();
    const int given = inherited(name);
    if (given < 0) {
        Error error(0, fmt::format("the tree was in a network namespace called {}, which isn't here", name));
        error.addHint(fmt::format("give one with --inherit-fd fd[N]:{}", name));
        throw error;
    }
    requireNamespace(given, NamespaceKind::Net, fmt::format("what --inherit-fd gives for {}", name));
    return UniqueFd(sys(::fcntl(given, F_DUPFD_CLOEXEC, 0), "copy fd {}", given));
}

void NetworkRestore::open(const Inherited& inherited, const Lift& lift) {
    for (Space& space : spaces_) {
        if (!space.content) {
            const int there = joined_.descriptor(NamespaceKind::Net);
            space.fd = lift(UniqueFd(sys(::fcntl(there, F_DUPFD_CLOEXEC, 0), "copy fd {}", there)));
        } else if (space.content->externalName() != nullptr) {
            space.fd = lift(openExternal(space, inherited));
        } else {
            space.made = true;
            if (space.number == number_)
                continue;  // the root is born in it
            log_.info("Making network namespace {}", space.number);
            kernel::inOwnThread([&] {
                sys(::unshare(CLONE_NEWNET), "create a network namespace");
                space.fd = kernel::openOwnNamespace(NamespaceKind::Net);
            });
            space.fd = lift(std::move(space.fd));
        }
    }
}

void NetworkRestore::fill(const kernel::ProcPid& root, const ImageDir& images,
                          const std::function<void(std::size_t)>& lockOther) {
    if (isNew())
        spaces_.front().fd = root.open("ns/net", O_RDONLY);
    const auto inEach = [&](const std::function<void(const NetworkContent&)>& work) {
        for (const Space& space : spaces_)
            if (space.made)
                inContext([&] { return fmt::format("network namespace {}", space.number); },
                          [&] {
                              const kernel::NamespaceVisit visit(space.fd.get(), NamespaceKind::Net);
                              work(*space.content);
                          });
    };
    kernel::inOwnThread([&] {
        const std::vector<DevicesOf> all = devices();
        inEach([&](const NetworkContent& content) {
            content.begin(settingsRule_, [this](std::uint32_t number) { return descriptorOf(number); });
        });
        devices_.make(all);
        inEach([&](const NetworkContent& content) { content.restoreFilters(images); });
        insideOthers(lockOther);
        devices_.start(settingsRule_);
        inEach([&](const NetworkContent& content) { content.finish(images); });
    });
}

bool NetworkRestore::isOther(std::uint32_t number) const noexcept {
    return number != number_ && find(number) != nullptr;
}

int NetworkRestore::descriptorOf(std::uint32_t number) const noexcept {
    const Space* const space = find(number);
    return space != nullptr ? space->fd.get() : -1;
}

void NetworkRestore::enter() const {
    if (!spaces_.empty() && spaces_.front().number == number_ && spaces_.front().fd)
        sys(::setns(spaces_.front().fd.get(), CLONE_NEWNET), "enter the network namespace of the tree");
}

void NetworkRestore::enter(std::uint32_t number) const {
    sys(::setns(descriptorOf(number), CLONE_NEWNET), "enter network namespace {}", number);
}

void NetworkRestore::inside(const std::function<void()>& work) const {
    if (!wasOwn())
        return work();
    const kernel::NamespaceVisit visit(spaces_.front().fd.get(), NamespaceKind::Net);
    work();
}

std::size_t NetworkRestore::others() const noexcept {
    return spaces_.empty() ? 0 : spaces_.size() - 1;
}

void NetworkRestore::insideOthers(const std::function<void(std::size_t index)>& work) const {
    for (std::size_t i = 0; i < others(); ++i) {
        const kernel::NamespaceVisit visit(spaces_[i + 1].fd.get(), NamespaceKind::Net);
        work(i);
    }
}

}  // namespace criu::namespaces
