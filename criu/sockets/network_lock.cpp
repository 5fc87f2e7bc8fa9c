// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/network_lock.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/iptables.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/sockets/iptables_rule.hpp"
#include "criu/sockets/namespace_lock.hpp"

namespace criu::sockets {
namespace {

using kernel::Iptables;
using Method = model::NetworkLock;

constexpr Method kNumbers[] = {Method::Iptables, Method::Nftables, Method::Skip};

/// Returns the address families that this kernel supports: IPv4, and IPv6 if it isn't disabled.
std::vector<Iptables::Family> families() {
    if (kernel::ProcDir().self().tryReadFile("net/if_inet6"))
        return {Iptables::Family::V4, Iptables::Family::V6};
    return {Iptables::Family::V4};
}

/// Adds both directions of a connection to `out`, the text of the elements of an nftables set. `connection`: connection
/// with the addresses that its packets contain.
void addElements(std::string& out, const InetConnection& connection) {
    const auto one = [&out](const InetEndpoint& from, const InetEndpoint& to) {
        fmt::format_to(std::back_inserter(out), "{}{} . {} . {} . {}", out.empty() ? "" : ", ", from.address(),
                       from.port, to.address(), to.port);
    };
    one(connection.local, connection.remote);
    // A socket that is connected to its own address has only one direction.
    if (connection.local != connection.remote)
        one(connection.remote, connection.local);
}

void addSet(std::string& out, std::string_view name, std::string_view type, const std::string& elements) {
    if (!elements.empty())
        fmt::format_to(std::back_inserter(out),
                       "set {} {{ type {} . inet_service . {} . inet_service; elements = {{ {} }}; }}\n", name, type,
                       type, elements);
}

/// Replaces addresses such as ::ffff:1.2.3.4 by the addresses in packets. Removes duplicates, because a connection is
/// in the list twice if both ends are in the tree.
std::vector<InetConnection> asPackets(std::vector<InetConnection> connections) {
    for (InetConnection& connection : connections)
        connection = connection.unmapped();
    std::sort(connections.begin(), connections.end());
    connections.erase(std::unique(connections.begin(), connections.end()), connections.end());
    std::set<InetConnection> known;
    std::erase_if(connections, [&known](const InetConnection& connection) {
        return known.contains({connection.remote, connection.local}) || !known.insert(connection).second;
    });
    return connections;
}

}  // namespace

std::uint32_t networkLockNumber(Method method) {
    return static_cast<std::uint32_t>(std::find(std::begin(kNumbers), std::end(kNumbers), method) - kNumbers);
}

Method networkLockMethod(std::uint32_t number) {
    if (number >= std::size(kNumbers))
        fail("the images name network lock method {}, which doesn't exist", number);
    return kNumbers[number];
}

Method defaultNetworkLock() {
    return Iptables(Iptables::Family::V4).available() ? Method::Iptables : Method::Nftables;
}

NetworkLock::NetworkLock(Method method, std::string runId, Log& log)
    : method_(method), runId_(std::move(runId)), log_(log) {}

NetworkLock::~NetworkLock() {
    release();
}

void NetworkLock::release() noexcept {
    if (!found_)
        unlock();
}

std::string NetworkLock::table() const {
    // Truncates the table name to this length, because CRIU 4.2 does so, too.
    constexpr std::size_t kLongest = 31;
    return fmt::format("inet CRIU-{}", runId_).substr(0, kLongest);
}

/// Returns family and name of the nftables table that belongs to criu's netlink socket during the dump.
std::string NetworkLock::heldTable() const {
    return fmt::format("inet criu-dump-{}", runId_);
}

void NetworkLock::lock(std::vector<InetConnection> connections) {
    connections = asPackets(std::move(connections));
    if (connections.empty() || whole_)
        return;
    locked_ = std::move(connections);
    log_.info("Locking {} connections", locked_->size());
    const ErrorContext context([] { return "lock the network"; });
    try {
        requireMethod();
        if (!hold())
            lockByMethod();
    } catch (const Error&) {
        unlock();  // some rules may already exist
        throw;
    }
}

/// Throws Error if the tools of the method can't be used. Call it early: the dump uses the tools only when it kills the
/// tree, and an error would come too late.
void NetworkLock::requireMethod() const {
    if (method_ == Method::Iptables)
        for (const Iptables::Family family : families())
            (void)Iptables(family).filterRules();
}

/// Adds the lock as an nftables table that criu's netlink socket owns. Returns false if the kernel or libnftables can't
/// create owned tables.
bool NetworkLock::hold() noexcept {
    if (method_ == Method::Skip || !kernel::Nftables::available())
        return false;
    try {
        auto owner = std::make_unique<kernel::Nftables>();
        owner->run(nftablesLock(heldTable(), true));
        owner_ = std::move(owner);
        return true;
    } catch (const std::exception& error) {
        log_.debug("The network lock stays if criu is killed: {}", error.what());
        return false;
    }
}

void NetworkLock::lockByMethod() const {
    if (method_ == Method::Nftables) {
        recordTable();
        kernel::Nftables().run(nftablesLock(table(), false));
    } else if (method_ == Method::Iptables) {
        recordLock("rules");
        if (!whole_)
            return lockIptables();
        for (const Iptables::Family family : families())
            Iptables(family).run(iptablesNamespaceLock());
    }
}

/// Adds the table to the journal before criu creates it without owner in the calling thread's network namespace.
void NetworkLock::recordTable() const {
    const UniqueFd network = kernel::openOwnNamespace(kernel::NamespaceKind::Net);
    log_.journal().record({"table", table(), fmt::format("{}", kernel::namespaceInode(network.get()))});
}

/// Adds to the journal how to remove the lock. `kind`: "lock" if only a restored tree that runs ends the lock; "rules"
/// if a killed criu ends it.
void NetworkLock::recordLock(std::string_view kind) const {
    Journal& journal = log_.journal();
    if (!journal.isOpen())
        return;
    const UniqueFd network = kernel::openOwnNamespace(kernel::NamespaceKind::Net);
    journal.record({kind, fmt::format("{}", kernel::namespaceInode(network.get())),
                    fmt::format("{}", networkLockNumber(method_)), runId_, whole_ ? "whole" : "connections"});
    // Only iptables needs the connections, because it has a rule for each of them.
    if (!whole_ && method_ == Method::Iptables)
        for (const InetConnection& connection : *locked_)
            journal.record({"connection", connection.local.word(), connection.remote.word()});
}

/// Lets `criu rescue` remove the lock if the restored tree runs. Does nothing if lockByMethod() has recorded it.
void NetworkLock::recordLockOfTree() const {
    if (found_ || method_ != Method::Iptables)
        recordLock("lock");
}

void NetworkLock::removeRecorded(std::span<const JournalLine> lines, Log& log) {
    const JournalLine& first = lines.front();
    NetworkLock lock(networkLockMethod(static_cast<std::uint32_t>(numberOf(first.at(2)))), first.at(3), log);
    lock.whole_ = first.at(4) == "whole";
    lock.locked_.emplace();
    for (const JournalLine& line : lines.subspan(1))
        lock.locked_->push_back({InetEndpoint::fromWord(line.at(1)), InetEndpoint::fromWord(line.at(2))});
    lock.unlock();
}

void NetworkLock::makePermanent() {
    if (!owner_ || permanent_)
        return;
    const ErrorContext context([] { return "lock the network"; });
    recordTable();
    owner_->run(nftablesLock(table(), false));
    permanent_ = true;
}

void NetworkLock::leaveInPlace() noexcept {
    try {
        if (owner_ && method_ == Method::Nftables) {
            makePermanent();
        } else if (owner_) {
            lockByMethod();
            if (permanent_)
                unlockNftables();
        }
    } catch (const std::exception& error) {
        log_.error("The network lock isn't complete, and connections may break: {}", error.what());
    }
    owner_.reset();
    locked_.reset();
    whole_ = false;
}

/// Changes the dump's method from iptables to nftables if iptables isn't installed on this host.
void NetworkLock::chooseMethod() {
    if (method_ == Method::Iptables && !Iptables(Iptables::Family::V4).available())
        method_ = Method::Nftables;
}

void NetworkLock::warn(const std::exception& error) noexcept {
    found_ = true;  // assumes after a failure that the dump's lock exists, so that release() doesn't remove it
    log_.warn("Connections may break, because packets of their peers may come too early: {}", error.what());
}

void NetworkLock::ensure(std::vector<InetConnection> dumped, std::vector<InetConnection> restored) noexcept {
    try {
        chooseMethod();
        if (dumped.empty() || whole_)
            return;
        locked_ = asPackets(std::move(dumped));
        found_ = hasLock();
        if (!found_) {
            locked_ = asPackets(std::move(restored));
            log_.info("Locking {} connections", locked_->size());
            if (hold())
                return;
            lockByMethod();
        }
        recordLockOfTree();
    } catch (const std::exception& error) {
        warn(error);
    }
}

void NetworkLock::ensureNamespace() noexcept {
    try {
        chooseMethod();
        found_ = hasNamespaceLock();
        whole_ = true;
        if (!found_ && hold())
            return;
        if (!found_)
            lockByMethod();
        recordLockOfTree();
    } catch (const std::exception& error) {
        warn(error);
    }
}

bool NetworkLock::hasTable() const {
    const std::string tables = kernel::Nftables().run("list tables inet\n");
    return tables.find(table() + '\n') != std::string::npos;
}

/// True if the table of makePermanent() exists. With the method iptables, criu replaces this table by iptables rules,
/// unless it is killed before that.
bool NetworkLock::hasOldTable() const {
    return kernel::Nftables::available() && hasTable();
}

bool NetworkLock::hasNamespaceLock() const {
    if (method_ == Method::Nftables)
        return hasTable();
    if (method_ == Method::Skip)
        return false;
    if (hasOldTable())
        return true;
    const std::vector<Iptables::Family> all = families();
    return std::all_of(all.begin(), all.end(), [](Iptables::Family family) {
        return !iptablesNamespaceUnlock(Iptables(family).filterRules()).empty();
    });
}

/// True if the packet filter has the rules of the method for all connections in `locked_`.
bool NetworkLock::hasLock() const {
    if (method_ == Method::Nftables)
        return hasTable();
    if (method_ == Method::Skip)
        return false;
    if (hasOldTable())
        return true;
    for (const int family : {AF_INET, AF_INET6}) {
        std::vector<InetConnection> ours;
        std::copy_if(locked_->begin(), locked_->end(), std::back_inserter(ours),
                     [&](const InetConnection& connection) { return connection.local.family == family; });
        if (ours.empty())
            continue;
        const Iptables iptables(family == AF_INET ? Iptables::Family::V4 : Iptables::Family::V6);
        if (!iptablesHave(ours, family, iptables.filterRules()))
            return false;
    }
    return true;
}

void NetworkLock::lockNamespace() {
    log_.info("Locking the network namespace of the tree");
    whole_ = true;
    const ErrorContext context([] { return "lock the network"; });
    try {
        requireMethod();
        if (!hold())
            lockByMethod();
    } catch (const Error&) {
        unlockNamespace();
        throw;
    }
}

void NetworkLock::unlockNamespace() noexcept {
    log_.info("Unlocking the network namespace of the tree");
    const bool held = owner_ != nullptr;
    removeOldTable();
    owner_.reset();
    whole_ = false;
    try {
        if (held)
            return;
        if (method_ == Method::Nftables) {
            unlockNftables();
        } else if (method_ == Method::Iptables) {
            for (const Iptables::Family family : families())
                removeRules(family, iptablesNamespaceUnlock);
        }
    } catch (const std::exception& error) {
        log_.error("The network can't be unlocked: {}", error.what());
    }
}

void NetworkLock::unlock() noexcept {
    if (whole_)
        return unlockNamespace();
    if (!locked_)
        return;
    const bool held = owner_ != nullptr;
    removeOldTable();
    owner_.reset();
    try {
        log_.info("Unlocking {} connections", locked_->size());
        if (!held && method_ == Method::Nftables)
            unlockNftables();
        else if (!held && method_ == Method::Iptables)
            unlockIptables();
    } catch (const std::exception& error) {
        log_.error("The network can't be unlocked: {}", error.what());
    }
    locked_.reset();
}

/// Removes the table of makePermanent() if this object has added it. With the method iptables, also removes the table
/// of a dump that was killed before it could replace its table by rules.
void NetworkLock::removeOldTable() const noexcept {
    try {
        if (permanent_ || (method_ == Method::Iptables && kernel::Nftables::available()))
            unlockNftables();
    } catch (const std::exception& error) {
        log_.debug("No table {}: {}", table(), error.what());
    }
}

/// Returns nft(8) commands that add a table with the rules of this lock. `owned`: if true, the kernel removes the table
/// when the netlink socket that added it is closed.
std::string NetworkLock::nftablesLock(const std::string& table, bool owned) const {
    const char* const flags = owned ? "flags owner;\n" : "";
    if (whole_)
        return nftablesNamespaceLock(table, flags);
    std::string v4;
    std::string v6;
    for (const InetConnection& connection : *locked_)
        addElements(connection.local.family == AF_INET ? v4 : v6, connection);
    std::string commands = fmt::format("table {} {{\n{}", table, flags);
    addSet(commands, "conns4", "ipv4_addr", v4);
    addSet(commands, "conns6", "ipv6_addr", v6);
    for (const char* const hook : {"output", "input"}) {
        fmt::format_to(std::back_inserter(commands),
                       "chain {} {{\ntype filter hook {} priority 0;\nmeta mark {:#x} accept\n", hook, hook,
                       kPassingMark);
        if (!v4.empty())
            commands += "ip saddr . tcp sport . ip daddr . tcp dport @conns4 drop\n";
        if (!v6.empty())
            commands += "ip6 saddr . tcp sport . ip6 daddr . tcp dport @conns6 drop\n";
        commands += "}\n";
    }
    return commands + "}\n";
}

void NetworkLock::unlockNftables() const {
    // The command `add table` prevents a failure of `delete table` if no table exists.
    kernel::Nftables().run(fmt::format("add table {}\ndelete table {}\n", table(), table()));
}

void NetworkLock::lockIptables() const {
    for (const int family : {AF_INET, AF_INET6}) {
        const std::string lines = iptablesInsertions(*locked_, family);
        if (!lines.empty())
            Iptables(family == AF_INET ? Iptables::Family::V4 : Iptables::Family::V6).run(lines);
    }
}

void NetworkLock::unlockIptables() const {
    for (const int family : {AF_INET, AF_INET6}) {
        if (std::none_of(locked_->begin(), locked_->end(),
                         [&](const InetConnection& connection) { return connection.local.family == family; }))
            continue;
        removeRules(family == AF_INET ? Iptables::Family::V4 : Iptables::Family::V6,
                    [&](std::string_view saved) { return iptablesDeletions(*locked_, family, saved); });
    }
}

void NetworkLock::removeRules(Iptables::Family family,
                              const std::function<std::string(std::string_view)>& deletions) const {
    const Iptables iptables(family);
    if (!iptables.available())
        return;  // without iptables, no rule exists
    // Tries again after failures, because other programs may change the tables at the same time. If a rule weren't
    // removed, it would block its connection forever.
    constexpr int kTries = 20;
    constexpr std::chrono::milliseconds kPause{25};
    for (int tries = 1;; ++tries) {
        try {
            const std::string lines = deletions(iptables.filterRules());
            if (!lines.empty())
                iptables.run(lines);
            return;
        } catch (const std::exception& error) {
            // Only logs the failure, so that the caller also unlocks the other family.
            if (tries == kTries)
                return log_.error("The network can't be unlocked: {}", error.what());
        }
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace criu::sockets
