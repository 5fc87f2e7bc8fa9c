// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/network_restore.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/net/device_restore.hpp"
#include "criu/namespaces/net/network_content.hpp"
#include "criu/namespaces/net/network_locks.hpp"
#include "criu/namespaces/non_root_ns_restore.hpp"
#include "criu/namespaces/ns_ids.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

constexpr std::string_view kMade = "made";

/// Scope in which a restored process is in a network namespace that isn't its own.
class SocketVisit {
public:
    SocketVisit(int network, const MoveFd& move) : home_(move(kernel::openOwnNamespace(NamespaceKind::Net))) {
        sys(::setns(network, CLONE_NEWNET), "enter another network namespace");
    }
    ~SocketVisit() { ::setns(home_.get(), CLONE_NEWNET); }
    SocketVisit(const SocketVisit&) = delete;
    SocketVisit& operator=(const SocketVisit&) = delete;

private:
    UniqueFd home_;
};

class NetworkRestore final : public NamespaceRestore {
public:
    NetworkRestore(const RestoreInputs& inputs, std::uint32_t number, const std::set<std::uint32_t>& others,
                   sockets::NetworkLock& lock, std::string lockName);

    [[nodiscard]] std::size_t descriptors() const override { return spaces_.size() + 3; }
    void prepare(kernel::FdStore& store, const Inherited& inherited) override;
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override;

    /// Creates all new namespaces except the root's. Runs in the first process, so that its user namespace owns them.
    void begin() override;
    /// Waits until begin() has returned in the first process, and opens the new namespaces.
    void firstCreated(const kernel::ProcPid& first) override;
    void fill(const kernel::ProcPid& first) override;
    void close() override;

    void enterFirst(const FirstProcess& first) override;
    /// Enters the network namespace of the process. Called after all its files are open, because each file is opened in
    /// its own namespace.
    void complete(const model::Task& task) const override;
    void completeThread(const model::Task& task) const override;

    void open() override { locks_.unlockOthers(); }
    void commit() noexcept override { devices_.commit(); }

private:
    /// Network namespace of the restored tree.
    struct Space {
        std::uint32_t number = 0;
        std::optional<NetworkContent> content;  ///< unset if the tree joins the namespace
        UniqueFd fd;
        bool made = false;  ///< true if the restore creates the namespace
    };

    [[nodiscard]] bool joins() const { return joined_.has(NamespaceKind::Net); }
    /// Returns true if the tree had a private network namespace. The dump then applied the namespace lock to all
    /// namespaces.
    [[nodiscard]] bool wasOwn() const noexcept { return number_ != 0; }
    /// Returns true if the first process is created in a new network namespace.
    [[nodiscard]] bool isNew() const noexcept;
    /// Returns the index in spaces_ of the first namespace that isn't the root's.
    [[nodiscard]] std::size_t firstOther() const noexcept { return wasOwn() || joins() ? 1 : 0; }
    /// Returns true if `number` is the namespace id of a non-root namespace.
    [[nodiscard]] bool isOther(std::uint32_t number) const noexcept;
    void addKnown(std::set<std::uint32_t> wanted);
    [[nodiscard]] const Space* find(std::uint32_t number) const noexcept;
    /// Returns the descriptor of a namespace, or -1 for criu's namespace or an unknown one.
    [[nodiscard]] int descriptorOf(std::uint32_t number) const noexcept;
    [[nodiscard]] std::vector<DevicesOf> devices() const;
    [[nodiscard]] UniqueFd openExternal(const Space& space, const Inherited& inherited) const;
    void announce(std::string_view text);
    void inEachNew(const std::function<void(const NetworkContent&)>& work) const;
    void lockOthers();
    /// Runs `work` in the root's private namespace. The dump has applied the namespace lock to this namespace.
    void inside(const Work& work) const;

    const ImageDir& images_;
    SettingsRule settingsRule_;
    const JoinedNamespaces& joined_;
    bool empty_;                ///< true if the content of namespaces isn't restored (--empty-ns)
    std::uint32_t number_;      ///< namespace id of the root's private namespace; 0 if it has none
    std::uint32_t ofRoot_ = 0;  ///< namespace id of the root's namespace, which may be criu's
    const RestoreNsContext& nsContext_;
    UniqueFd home_;  ///< descriptor of criu's namespace; set only if the root was in it
    /// Descriptor of the namespace that complete() entered in this process; -1 if it entered none.
    mutable int entered_ = -1;
    /// Namespace id of the network namespace in which this process is. At first this is the root's namespace;
    /// complete() changes it.
    mutable std::uint32_t current_ = 0;
    std::vector<Space> spaces_;  ///< namespaces; the root's is the first, except if it is criu's
    DeviceRestore devices_;
    NetworkLocks locks_;  ///< destroyed before the descriptors in spaces_, because it needs them to unlock
    /// Write end of a pipe. The first process writes the result of begin() to it. Unset if begin() creates nothing.
    UniqueFd announcement_;
    UniqueFd heard_;  ///< read end of this pipe, which the coordinator reads
};

NetworkRestore::NetworkRestore(const RestoreInputs& inputs, std::uint32_t number, const std::set<std::uint32_t>& others,
                               sockets::NetworkLock& lock, std::string lockName)
    : images_(inputs.images),
      settingsRule_{inputs.options.weakSysctls, inputs.log},
      joined_(inputs.joined),
      empty_(inputs.options.emptyNetNs),
      number_(number),
      nsContext_(inputs.nsContext),
      devices_(inputs.options, inputs.log),
      locks_(lock, std::move(lockName), inputs.log) {
    if (const auto& ids = inputs.tree.root().ids; ids)
        current_ = ofRoot_ = numberOf(**ids, NamespaceKind::Net).value_or(0);
    // The process that creates a network namespace must return to criu's namespace afterwards. In a private user
    // namespace, it would lack the capabilities for this.
    if (!wasOwn() && !others.empty() && (joins() || inputs.nsContext.ids.isOwnNamespace()))
        fail(
            "processes were in a network namespace (number {}) other than that of criu, where the root was, which "
            "can't "
            "be restored with --join-ns net, or in a user namespace of the tree's own",
            *others.begin());
    if (!wasOwn() && !joins())
        lock.setNetwork(ofRoot_);
    if (joins())
        spaces_.push_back({number_, {}, {}, false});
    else if (wasOwn())
        spaces_.push_back({number_, NetworkContent(images_, number_, empty_), {}, false});
    addKnown(others);
    devices_.check(devices());

    RestoreNsContext& nsContext = inputs.nsContext;
    nsContext.ownNetwork = wasOwn();
    if (wasOwn())
        nsContext.inNetwork = [this](const Work& work) { inside(work); };
    nsContext.inSocketNetNs = [this](std::uint32_t wanted, const MoveFd& move, const Work& work) {
        if (!isOther(wanted))
            return work();
        const SocketVisit visit(descriptorOf(wanted), move);
        work();
    };
}

/// Adds the wanted namespaces, and all namespaces to which these refer. A namespace has an `nsid` (RTM_NEWNSID) for
/// another one, for instance because a veth or tunnel device leads to it.
void NetworkRestore::addKnown(std::set<std::uint32_t> wanted) {
    const auto addKnownBy = [&](const Space& space) {
        if (space.content)
            for (const auto& [number, id] : space.content->ids())
                wanted.insert(number);
    };
    if (!spaces_.empty())
        addKnownBy(spaces_.front());
    wanted.erase(number_);
    for (;;) {
        const auto next = std::find_if(wanted.begin(), wanted.end(), [&](std::uint32_t number) {
            return number != ofRoot_ && find(number) == nullptr;
        });
        if (next == wanted.end())
            return;
        if (empty_)
            fail(
                "the images have a network namespace (number {}) besides that of the tree's root, which can't be "
                "restored with --empty-ns",
                *next);
        spaces_.push_back({*next, NetworkContent(images_, *next, false), {}, false});
        addKnownBy(spaces_.back());
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

void NetworkRestore::prepare(kernel::FdStore& store, const Inherited& inherited) {
    if (firstOther() == 0)
        home_ = store.inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(NamespaceKind::Net));
    for (Space& space : spaces_) {
        if (!space.content) {
            const int there = joined_.descriptor(NamespaceKind::Net);
            space.fd = store.inherit(kernel::FdKey::Namespace,
                                     UniqueFd(sys(::fcntl(there, F_DUPFD_CLOEXEC, 0), "copy fd {}", there)));
        } else if (space.content->externalName() != nullptr) {
            space.fd = store.inherit(kernel::FdKey::Namespace, openExternal(space, inherited));
        } else {
            space.made = true;
            if (space.number == number_)
                continue;  // the root is created in this namespace
            space.fd = store.inherit(kernel::FdKey::Namespace,
                                     // begin() replaces the descriptor at the same number
                                     kernel::openOwnNamespace(NamespaceKind::Net));
            if (announcement_)
                continue;
            int ends[2];
            sys(::pipe2(ends, O_CLOEXEC), "create a pipe");
            heard_ = store.inherit(kernel::FdKey::Namespace, UniqueFd(ends[0]));
            announcement_ = store.inherit(kernel::FdKey::Namespace, UniqueFd(ends[1]));
        }
    }
}

std::uint64_t NetworkRestore::birthFlags(const model::Task& task) const {
    return task.parent == nullptr && isNew() ? CLONE_NEWNET : 0;
}

void NetworkRestore::announce(std::string_view text) {
    (void)!::write(announcement_.get(), text.data(), text.size());
    announcement_.reset();
    heard_.reset();
}

void NetworkRestore::begin() {
    if (!announcement_)
        return;
    try {
        const UniqueFd own = kernel::openOwnNamespace(NamespaceKind::Net);
        for (const Space& space : spaces_) {
            if (!space.made || space.number == number_)
                continue;
            const auto create = [&] { sys(::unshare(CLONE_NEWNET), "create network namespace {}", space.number); };
            UniqueFd made;
            if (const UniqueFd* const owner = nsContext_.ownerOf(space.number); owner != nullptr) {
                made = createInUserns(*owner, NamespaceKind::Net, create);
            } else {
                create();
                made = kernel::openOwnNamespace(NamespaceKind::Net);
            }
            sys(::dup3(made.get(), space.fd.get(), O_CLOEXEC), "hold a network namespace");
        }
        sys(::setns(own.get(), CLONE_NEWNET), "go back to the root's network namespace");
    } catch (const std::exception& error) {
        announce(error.what());
        throw;
    }
    announce(kMade);
}

void NetworkRestore::firstCreated(const kernel::ProcPid& first) {
    if (!announcement_)
        return;
    announcement_.reset();
    std::string text;
    char block[256];
    for (ssize_t got = 0; (got = ::read(heard_.get(), block, sizeof(block))) > 0 || (got < 0 && errno == EINTR);)
        text.append(block, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    heard_.reset();
    if (text != kMade)
        fail("the root of the tree has made no network namespaces: {}", text.empty() ? "it has ended" : text);
    for (Space& space : spaces_)
        if (space.made && space.number != number_)
            space.fd = first.open(fmt::format("fd/{}", space.fd.get()), O_RDONLY);
}

void NetworkRestore::inEachNew(const std::function<void(const NetworkContent&)>& work) const {
    for (const Space& space : spaces_)
        if (space.made) {
            const ErrorContext context([&] { return fmt::format("network namespace {}", space.number); });
            const kernel::NamespaceVisit visit(space.fd.get(), NamespaceKind::Net);
            work(*space.content);
        }
}

/// Locks non-root namespaces before packets can arrive. The packet filter rules of the images lock only the root's
/// namespace.
void NetworkRestore::lockOthers() {
    for (std::size_t i = firstOther(); i < spaces_.size(); ++i) {
        const kernel::NamespaceVisit visit(spaces_[i].fd.get(), NamespaceKind::Net);
        locks_.lockOther(spaces_[i].fd.get());
    }
}

void NetworkRestore::fill(const kernel::ProcPid& first) {
    if (isNew())
        spaces_.front().fd = first.open("ns/net", O_RDONLY);
    kernel::runInThread([&] {
        const std::vector<DevicesOf> all = devices();
        inEachNew([&](const NetworkContent& content) {
            content.begin(settingsRule_, [this](std::uint32_t number) { return descriptorOf(number); });
        });
        devices_.make(all);
        inEachNew([&](const NetworkContent& content) { content.restoreFilters(images_); });
        lockOthers();
        devices_.start(settingsRule_);
        inEachNew([&](const NetworkContent& content) { content.finish(images_); });
    });
}

void NetworkRestore::close() {
    if (wasOwn())
        inside([this] { locks_.lockRoot(spaces_.front().fd.get()); });
}

void NetworkRestore::enterFirst(const FirstProcess& /*first*/) {
    if (joins())
        joined_.enter(NamespaceKind::Net);
    else if (!spaces_.empty() && spaces_.front().number == number_ && spaces_.front().fd)
        sys(::setns(spaces_.front().fd.get(), CLONE_NEWNET), "enter the network namespace of the tree");
}

void NetworkRestore::complete(const model::Task& task) const {
    const auto number = task.ids ? numberOf(**task.ids, NamespaceKind::Net) : std::nullopt;
    if (number && isOther(*number)) {
        sys(::setns(descriptorOf(*number), CLONE_NEWNET), "enter network namespace {}", *number);
        entered_ = descriptorOf(*number);
        current_ = *number;
    } else if (home_ && current_ != ofRoot_) {
        sys(::setns(home_.get(), CLONE_NEWNET), "go back to the network namespace of criu");
        entered_ = home_.get();
        current_ = ofRoot_;
    }
}

void NetworkRestore::completeThread(const model::Task& /*task*/) const {
    if (entered_ >= 0)
        sys(::setns(entered_, CLONE_NEWNET), "have a thread enter a network namespace");
}

bool NetworkRestore::isOther(std::uint32_t number) const noexcept {
    return number != 0 && number != number_ && find(number) != nullptr;
}

int NetworkRestore::descriptorOf(std::uint32_t number) const noexcept {
    const Space* const space = find(number);
    return space != nullptr ? space->fd.get() : -1;
}

void NetworkRestore::inside(const Work& work) const {
    const kernel::NamespaceVisit visit(spaces_.front().fd.get(), NamespaceKind::Net);
    work();
}

/// Returns the namespace ids of non-root namespaces of processes and files. Throws Error if a file is in such a
/// namespace although the tree had no private network namespace.
std::set<std::uint32_t> otherNetworks(const RestoreInputs& inputs, const KindNsIds& numbers) {
    std::set<std::uint32_t> others(numbers.others.begin(), numbers.others.end());
    const auto& ids = inputs.tree.root().ids;
    const auto ofRoot = ids && inputs.outside != nullptr ? numberOf(**ids, NamespaceKind::Net) : std::nullopt;
    if (!ofRoot)
        return others;
    for (const auto& [number, file] : inputs.networksOfFiles) {
        if (number == *ofRoot)
            continue;
        if (numbers.own == 0 && !others.contains(number))
            fail("file {} is of another network namespace than the tree's, which can't be restored", file);
        others.insert(number);
    }
    if (const auto criu = numberOf(*inputs.outside, NamespaceKind::Net))
        others.erase(*criu);
    return others;
}

}  // namespace

std::unique_ptr<NamespaceRestore> makeNetworkRestore(const RestoreInputs& inputs, sockets::NetworkLock& lock,
                                                     std::string lockName) {
    const KindNsIds numbers = KindNsIds::ofAny(inputs, NamespaceKind::Net);
    const std::set<std::uint32_t> others = otherNetworks(inputs, numbers);
    if (numbers.own == 0 && others.empty() && !inputs.joined.has(NamespaceKind::Net))
        return nullptr;
    return std::make_unique<NetworkRestore>(inputs, numbers.own, others, lock, std::move(lockName));
}

}  // namespace criu::namespaces
