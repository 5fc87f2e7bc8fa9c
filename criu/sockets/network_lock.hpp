// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/kernel/net/iptables.hpp"
#include "criu/model/options.hpp"
#include "criu/sockets/inet_endpoint.hpp"

namespace criu {
class Log;
}

namespace criu::kernel {
class Nftables;
}

/// Network lock: packet filter rules that drop the packets of dumped connections, from the dump until the restore.
/// Without the rules, a packet of the peer would change the state of the dumped socket. When the socket doesn't exist
/// any more, the kernel would even answer the packet with a reset. Names and marks equal those of CRIU 4.2, so that
/// CRIU 4.2 and criu can remove each other's rules.
namespace criu::sockets {

/// Passing mark of packets that criu forges. A network lock doesn't drop packets with this SO_MARK.
inline constexpr int kPassingMark = 0xC114;

/// Returns the number of a method in inventory.img.
std::uint32_t networkLockNumber(model::NetworkLock method);
/// Returns the method with this number in inventory.img. Throws Error for an unknown number.
model::NetworkLock networkLockMethod(std::uint32_t number);

/// Returns the method of a dump without --network-lock: iptables as in CRIU 4.2, or nftables if iptables isn't
/// installed.
model::NetworkLock defaultNetworkLock();

class NetworkLock {
public:
    /// `runId`: id of the dump, which is a part of the table names.
    NetworkLock(model::NetworkLock method, std::string runId, Log& log);
    /// Calls release().
    ~NetworkLock();
    NetworkLock(const NetworkLock&) = delete;
    NetworkLock& operator=(const NetworkLock&) = delete;

    [[nodiscard]] model::NetworkLock method() const noexcept { return method_; }

    /// Sets the id of the network namespace whose connections lock() and ensure() lock. Namespaces with other ids get
    /// namespace locks. Before this call, isOf() returns true for all namespaces.
    void setNetwork(std::uint32_t number) noexcept { network_ = number; }
    [[nodiscard]] bool isOf(std::uint32_t network) const noexcept { return network_ == 0 || network == network_; }

    /// Adds rules that drop the packets of these connections. After an Error, no connection is locked. May be called
    /// once. Since Linux 5.12 (nftables with table owners), the kernel removes the rules if criu dies before
    /// makePermanent().
    void lock(std::vector<InetConnection> connections);

    /// Adds a namespace lock to the calling thread's network namespace, which must be private to the tree. A later
    /// lock() does nothing. Throws Error.
    void lockNamespace();

    /// Adds an nftables table without owner, so that the lock stays when criu ends. Call it right before criu kills the
    /// tree. Throws Error.
    void makePermanent();

    /// Removes the lock. Failures are only logged.
    void unlock() noexcept;

    /// Leaves the lock for the restore when this object is destroyed. With the method iptables, replaces the table of
    /// makePermanent() by iptables rules. After lockNamespace(), the calling thread must be in the locked namespace.
    /// Failures are only logged.
    void leaveInPlace() noexcept;

    /// Uses the dump's lock of the `dumped` connections. If it doesn't exist, as on another machine, locks the
    /// `restored` connections, which may have other addresses. A lock of the dump stays until unlock(), so that the
    /// user can repeat a failed restore. If no lock can be created, only warns, because the restore may succeed without
    /// a lock.
    void ensure(std::vector<InetConnection> dumped, std::vector<InetConnection> restored) noexcept;

    /// Uses the lock of all traffic in the calling thread's network namespace, or creates it. unlock() and release()
    /// must be called in the same namespace.
    void ensureNamespace() noexcept;

    /// Removes the lock if this object has created it.
    void release() noexcept;

    /// Removes a lock that a killed dump or restore has recorded in its journal. `lines`: the line "lock" or "rules"
    /// and the lines "connection" that follow it. The calling thread must be in the network namespace of the lock.
    /// Throws Error if the lines are damaged.
    static void removeRecorded(std::span<const std::vector<std::string>> lines, Log& log);

private:
    [[nodiscard]] std::string table() const;
    [[nodiscard]] std::string heldTable() const;
    [[nodiscard]] std::string nftablesLock(const std::string& table, bool owned) const;
    void requireMethod() const;
    bool hold() noexcept;
    void recordTable() const;
    void recordLock(std::string_view kind) const;
    void recordLockOfTree() const;
    void lockByMethod() const;
    void removeOldTable() const noexcept;
    void chooseMethod();
    void warn(const std::exception& error) noexcept;
    [[nodiscard]] bool hasTable() const;
    [[nodiscard]] bool hasOldTable() const;
    [[nodiscard]] bool hasNamespaceLock() const;
    [[nodiscard]] bool hasLock() const;
    void lockIptables() const;
    void unlockNftables() const;
    void unlockIptables() const;
    void unlockNamespace() noexcept;
    void removeRules(kernel::Iptables::Family family,
                     const std::function<std::string(std::string_view)>& deletions) const;

    model::NetworkLock method_;
    std::string runId_;
    Log& log_;
    std::uint32_t network_ = 0;
    std::optional<std::vector<InetConnection>> locked_;
    bool whole_ = false;  ///< true after lockNamespace() or ensureNamespace(): the lock isn't for single connections
    bool found_ = false;  ///< true if ensure() found a lock of the dump
    /// Owner of the temporary nftables table; null if there is no such table. The kernel removes the table when the
    /// owner's netlink socket is closed.
    std::unique_ptr<kernel::Nftables> owner_;
    bool permanent_ = false;  ///< true if makePermanent() has added a table
};

}  // namespace criu::sockets
