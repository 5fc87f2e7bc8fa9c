// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "criu/base/log.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::namespaces {

/// Network locks of the tree's namespaces during a restore. The destructor removes each lock that this restore has set,
/// in the lock's namespace. If the restore fails, a lock that the dump has left stays.
class NetworkLocks {
public:
    /// `root`: lock of the root's namespace. `name`: name for the locks of other namespaces.
    NetworkLocks(sockets::NetworkLock& root, std::string name, Log& log)
        : root_(root), name_(std::move(name)), log_(log) {}
    ~NetworkLocks();
    NetworkLocks(const NetworkLocks&) = delete;
    NetworkLocks& operator=(const NetworkLocks&) = delete;

    // lockRoot() and lockOther() must be called by a thread in the namespace. `network`: descriptor of the namespace,
    // which must outlive this object.

    void lockRoot(int network);
    void lockOther(int network);

    /// Unlocks all namespaces except the root's, which the owner of `root` unlocks. Any thread may call it.
    void unlockOthers();

private:
    sockets::NetworkLock& root_;
    std::string name_;
    Log& log_;
    int rootNetwork_ = -1;  ///< descriptor of the root's namespace; -1 before lockRoot()
    std::map<int, std::unique_ptr<sockets::NetworkLock>> others_;
};

}  // namespace criu::namespaces
