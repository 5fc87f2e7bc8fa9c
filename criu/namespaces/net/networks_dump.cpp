// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/networks_dump.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/network_ids.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/namespaces/external_ns_sharing.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

constexpr int kNetworkCookie = 71;  // SO_NETNS_COOKIE (Linux 5.14)

/// Returns the cookie of a socket's network namespace. Returns 0 if the kernel is older than 5.14 or the descriptor
/// isn't a socket.
std::uint64_t cookieOf(int socket) {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);
    return ::getsockopt(socket, SOL_SOCKET, kNetworkCookie, &cookie, &size) == 0 ? cookie : 0;
}

std::uint64_t cookieHere() {
    const UniqueFd socket(sys(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "create a socket"));
    return cookieOf(socket.get());
}

}  // namespace

NetworksDump::NetworksDump(const model::Options& options, sockets::NetworkLock& lock, std::string runId,
                           ExternalLinks links, ImageNsIds& numbers, StopRequest& stop, Log& log)
    : options_(options),
      rootLock_(lock),
      runId_(std::move(runId)),
      links_(std::move(links)),
      numbers_(numbers),
      stop_(stop),
      log_(log) {}

NetworksDump::~NetworksDump() {
    release(false);
}

void NetworksDump::release(bool stayLocked) noexcept {
    for (Space& space : spaces_) {
        if (!space.lock)
            continue;
        try {
            inside(space, [&] {
                if (stayLocked)
                    space.lock->leaveInPlace();
                else
                    space.lock->release();
            });
        } catch (const std::exception& error) {
            log_.error("Network namespace {} can't be unlocked: {}", space.number, error.what());
        }
        space.lock.reset();
    }
}

NetworkRule NetworksDump::ruleOf(std::uint64_t inode) const {
    NetworkRule rule{{}, options_.emptyNetNs};
    for (const model::External& external : options_.externals)
        if (external.type == model::ExternalType::Net && external.id == std::to_string(inode))
            rule.externalName = external.value;
    // Container runtimes always pass --empty-ns. If the namespace also has an external name, the name decides, because
    // an external namespace isn't dumped.
    rule.empty = rule.empty && !rule.externalName;
    return rule;
}

void NetworksDump::check(Space& space) {
    space.dump.emplace(space.number, ruleOf(space.inode), links_, stop_, log_);
    if (space.dump->carriesDevices())
        tunDevices_.setCarried(space.number);
    const ErrorContext context([&] { return fmt::format("network namespace {}", space.number); });
    inside(space, [&] { space.dump->check(); });
}

void NetworksDump::begin(std::optional<std::uint32_t> criu) {
    criu_ = criu;
    Space& space = spaces_.emplace_back();
    space.number = numbers_.ofTree(NamespaceKind::Net);
    space.fd = kernel::openOwnNamespace(NamespaceKind::Net);
    space.inode = kernel::namespaceInode(space.fd.get());
    space.cookie = cookieHere();
    if (numbers_.isOwn(NamespaceKind::Net))
        check(space);
    rootLock_.setNetwork(space.number);
}

NetworksDump::Space& NetworksDump::add(UniqueFd network, std::uint64_t inode) {
    Space space;
    space.fd = std::move(network);
    space.inode = inode;
    inside(space, [&] { space.cookie = cookieHere(); });
    if (options_.emptyNetNs)
        fail("--empty-ns can't be used when there are several network namespaces");
    space.number = numbers_.addOther();
    log_.info("Network namespace {} has the number {}", inode, space.number);
    Space& added = spaces_.emplace_back(std::move(space));
    check(added);
    if (locked_)
        lockOne(added);
    return added;
}

const NetworksDump::Space& NetworksDump::of(UniqueFd network, const std::function<std::string()>& whose,
                                            bool ofProcess) {
    const std::uint64_t inode = kernel::namespaceInode(network.get());
    const std::lock_guard guard(mutex_);
    const auto known =
        std::find_if(spaces_.begin(), spaces_.end(), [&](const Space& space) { return space.inode == inode; });
    if (known != spaces_.end())
        return *known;
    if (!numbers_.isOwn(NamespaceKind::Net) && !ofProcess)
        fail(
            "{} is in another network namespace than the root of the tree, which isn't in one of its own; that can't "
            "be "
            "dumped",
            whose());
    if (inode == criu_)
        fail("{} is in the network namespace of criu, which can't be dumped together with the tree's own", whose());
    const ErrorContext context(whose);
    if (!ofProcess)
        requireNoExternalSharing(inode);
    return add(std::move(network), inode);
}

void NetworksDump::requireNoExternalSharing(std::uint64_t inode) const {
    if (ruleOf(inode).externalName)
        return;
    const auto holder = externalHolder(NamespaceKind::Net, static_cast<std::uint32_t>(inode));
    if (!holder)
        return;
    const std::string text = fmt::format("its network namespace {}", *holder);
    if (options_.finalState == model::FinalState::Running) {
        log_.loss(Loss::Sharing, "A restore creates a separate namespace, which external processes aren't in: {}",
                  text);
        return;
    }
    Error error(0, fmt::format("{}: it would be restored in another one, apart from that", text));
    error.addHint(fmt::format("name it with --external net[{}]:NAME", inode));
    throw error;
}

std::uint32_t NetworksDump::ofProcess(const kernel::ProcPid& process) {
    return of(
               process.open("ns/net", O_RDONLY), [] { return std::string("it"); }, true)
        .number;
}

std::uint32_t NetworksDump::ofSocket(const files::OpenFd& file) {
    if (const std::uint64_t cookie = cookieOf(file.copy.get()); cookie != 0) {
        const std::lock_guard guard(mutex_);
        const auto known =
            std::find_if(spaces_.begin(), spaces_.end(), [&](const Space& space) { return space.cookie == cookie; });
        if (known != spaces_.end())
            return known->number;
    }
    UniqueFd network(::ioctl(file.copy.get(), SIOCGSKNS));
    if (!network)  // the kernel doesn't report the namespace of this file
        return numbers_.ofTree(NamespaceKind::Net);
    return of(std::move(network), [&] { return file.describe(); }).number;
}

std::uint32_t NetworksDump::ofNamespaceFile(const files::OpenFd& file) {
    return of(UniqueFd(sys(::fcntl(file.copy.get(), F_DUPFD_CLOEXEC, 0), "copy {}", file.describe())),
              [&] { return file.describe(); })
        .number;
}

void NetworksDump::lockOne(Space& space) {
    space.lock = std::make_unique<sockets::NetworkLock>(rootLock_.method(), runId_, log_);
    // Reads the rules before criu adds the lock to them, so that images don't contain the lock: CRIU 4.2 wouldn't
    // remove it in a restore.
    inside(space, [&] {
        space.dump->readFilters();
        space.lock->lockNamespace();
    });
}

void NetworksDump::lock() {
    const std::lock_guard guard(mutex_);
    if (numbers_.isOwn(NamespaceKind::Net))
        rootLock_.lockNamespace();
    locked_ = true;
    for (Space& space : spaces_)
        if (&space != &spaces_.front())
            lockOne(space);
}

void NetworksDump::prepareKill() {
    const std::lock_guard guard(mutex_);
    rootLock_.makePermanent();
    for (Space& space : spaces_)
        if (space.lock)
            space.lock->makePermanent();
}

const NetworksDump::Space& NetworksDump::find(std::uint32_t number) const {
    const std::lock_guard guard(mutex_);
    const auto found =
        std::find_if(spaces_.begin(), spaces_.end(), [&](const Space& space) { return space.number == number; });
    if (found == spaces_.end())
        fail("there is no network namespace {}", number);
    return *found;
}

void NetworksDump::inside(const Space& space, const std::function<void()>& work) const {
    if (!spaces_.empty() && &space == &spaces_.front())
        return work();
    const kernel::NamespaceVisit visit(space.fd.get(), NamespaceKind::Net);
    work();
}

void NetworksDump::inside(std::uint32_t number, const std::function<void()>& work) const {
    inside(find(number), work);
}

void NetworksDump::write(const ImageDir& images) {
    for (const Space& space : spaces_) {
        if (!space.dump)
            continue;
        inside(space, [&] {
            std::map<std::int32_t, std::uint32_t> ids;
            for (const Space& other : spaces_)
                if (const auto id = kernel::networkIdOf(other.fd.get()))
                    ids.emplace(*id, other.number);
            space.dump->write(images, tunDevices_, ids);
        });
    }
}

}  // namespace criu::namespaces
