// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
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

/// While a connection is dumped, doesn't exist, or is restored, nobody may answer its peer: the kernel would reset a
/// connection that it doesn't know (any more, or yet), and a socket would change its state. So rules of the packet
/// filter drop the packets of exactly these connections, from the dump until the restore. Names and marks are those of
/// CRIU 4.2, so that each of the two programs can remove the rules of the other.
namespace criu::sockets {

/// Packets with this SO_MARK pass in spite of a lock: those that criu itself forges.
inline constexpr int kPassingMark = 0xC114;

/// The number of a method in inventory.img.
std::uint32_t networkLockNumber(model::NetworkLock method);
/// Throws Error for a number that means nothing.
model::NetworkLock networkLockMethod(std::uint32_t number);

/// What a dump uses when the options don't say: iptables, as CRIU 4.2 does, or nftables where iptables isn't installed.
model::NetworkLock defaultNetworkLock();

class NetworkLock {
public:
    /// `runId`: of the dump; part of names.
    NetworkLock(model::NetworkLock method, std::string runId, Log& log)
        : method_(method), runId_(std::move(runId)), log_(log) {}
    /// Removes the rules that this object has added, unless leaveInPlace() was called.
    ~NetworkLock();
    NetworkLock(const NetworkLock&) = delete;
    NetworkLock& operator=(const NetworkLock&) = delete;

    [[nodiscard]] model::NetworkLock method() const noexcept { return method_; }

    /// The number, in images, of the network whose connections it locks; those of others are locked with the whole of
    /// theirs. Until it is known that is every network.
    void setNetwork(std::uint32_t number) noexcept { network_ = number; }
    [[nodiscard]] bool isOf(std::uint32_t network) const noexcept { return network_ == 0 || network == network_; }

    /// Drops packets of these connections from now on; all of them or, with an Error, none. Once only.
    void lock(std::vector<InetConnection> connections);

    /// Drops all packets of the network namespace of the calling thread; that includes whatever lock() is asked for
    /// later. For a namespace that is the tree's own. Throws Error.
    void lockNamespace();

    /// Lifts the lock. Problems are logged only: nobody could do anything about them.
    void unlock() noexcept;

    /// The lock stays when this object goes: for the restore.
    void leaveInPlace() noexcept {
        locked_.reset();
        whole_ = false;
    }

    /// Restore: takes over the lock of these connections that a dump left behind, or, if it is gone, puts one in place
    /// of it. A lock that was there stays until unlock() is called, also after a failure: for another try. A new one
    /// that fails is logged only: it would have kept away what perhaps doesn't come.
    void ensure(std::vector<InetConnection> connections) noexcept;

    /// Same, for a lock of the whole namespace of the calling thread. unlock() and release() are then to be called in
    /// it.
    void ensureNamespace() noexcept;

    /// Lifts the lock unless it was found in place.
    void release() noexcept;

private:
    [[nodiscard]] std::string table() const;
    void chooseMethod();
    void warn(const std::exception& error) noexcept;
    [[nodiscard]] bool hasTable() const;
    [[nodiscard]] bool hasNamespaceLock() const;
    [[nodiscard]] bool hasLock() const;
    void lockNftables() const;
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
    bool whole_ = false;  ///< all of the namespace is locked
    bool found_ = false;  ///< by somebody else, before
};

}  // namespace criu::sockets
