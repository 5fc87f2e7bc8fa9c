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

/// Network lock: packet filter rules that drop packets of exactly these connections, from the dump until the restore.
/// Without it, a packet of the peer changes the socket's state. The kernel also answers a packet with a reset while no
/// socket exists. Names and marks are those of CRIU 4.2, so that each program can remove the rules of the other.
namespace criu::sockets {

/// Passing mark of packets that criu forges. A network lock doesn't drop packets with this SO_MARK.
inline constexpr int kPassingMark = 0xC114;

/// Returns the number of a method in inventory.img.
std::uint32_t networkLockNumber(model::NetworkLock method);
/// Returns the method of a number. Throws Error for an unknown one.
model::NetworkLock networkLockMethod(std::uint32_t number);

/// Returns the method of a dump without the option: iptables like CRIU 4.2, or nftables if iptables isn't installed.
model::NetworkLock defaultNetworkLock();

class NetworkLock {
public:
    /// `runId`: of the dump; part of names.
    NetworkLock(model::NetworkLock method, std::string runId, Log& log);
    /// Removes the rules that this object has added, unless leaveInPlace() was called.
    ~NetworkLock();
    NetworkLock(const NetworkLock&) = delete;
    NetworkLock& operator=(const NetworkLock&) = delete;

    [[nodiscard]] model::NetworkLock method() const noexcept { return method_; }

    /// Sets the id of the network namespace whose connections this object locks. Other namespaces are locked as a
    /// whole. Before this call, isOf() is true for all namespaces.
    void setNetwork(std::uint32_t number) noexcept { network_ = number; }
    [[nodiscard]] bool isOf(std::uint32_t network) const noexcept { return network_ == 0 || network == network_; }

    /// Drops packets of these connections from now on. With an Error, none of them is locked. May be called once. Until
    /// makePermanent(), the kernel removes the lock when criu dies, if it has nftables with table owners (Linux 5.12).
    void lock(std::vector<InetConnection> connections);

    /// Drops all packets of the calling thread's network namespace, which must be private to the tree. A later lock()
    /// does nothing. Throws Error.
    void lockNamespace();

    /// Makes the lock outlive criu: adds an nftables table without owner. Call it right before the tree is killed.
    /// Throws Error.
    void makePermanent();

    /// Removes the lock. Failures are only logged.
    void unlock() noexcept;

    /// Keeps the lock for the restore, after this object is destroyed: replaces the tables of makePermanent() by the
    /// rules of the method. For a locked namespace, the calling thread must be in it. Failures are only logged.
    void leaveInPlace() noexcept;

    /// Takes over the lock of a dump for these connections, or creates one if it is missing. An existing lock stays
    /// until unlock(), also after a failure, so that the restore can be repeated. A failure to create one is only
    /// logged, because packets may not come at all.
    void ensure(std::vector<InetConnection> connections) noexcept;

    /// Does the work of ensure() for a lock of the calling thread's whole network namespace. unlock() and release()
    /// must be called in it, too.
    void ensureNamespace() noexcept;

    /// Removes the lock unless it existed before.
    void release() noexcept;

private:
    [[nodiscard]] std::string table() const;
    [[nodiscard]] std::string heldTable() const;
    [[nodiscard]] std::string nftablesLock(const std::string& table, bool owned) const;
    void requireMethod() const;
    bool hold() noexcept;
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
    bool whole_ = false;  ///< the whole namespace is locked
    bool found_ = false;  ///< the lock existed before
    /// Owner of the temporary table. The kernel removes the table when this object's socket is closed. Null: none.
    std::unique_ptr<kernel::Nftables> owner_;
    bool permanent_ = false;  ///< makePermanent() has added its table
};

}  // namespace criu::sockets
