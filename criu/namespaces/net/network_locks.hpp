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

/// The network locks of a tree's namespaces during a restore. The destructor removes locks of this restore, each in its
/// namespace. A lock that the dump left is adopted, and stays if the restore fails.
class NetworkLocks {
public:
    /// `root`: lock of the root's namespace. `name`: name of the other namespaces' locks.
    NetworkLocks(sockets::NetworkLock& root, std::string name, Log& log)
        : root_(root), name_(std::move(name)), log_(log) {}
    ~NetworkLocks();
    NetworkLocks(const NetworkLocks&) = delete;
    NetworkLocks& operator=(const NetworkLocks&) = delete;

    // Called from a thread in the namespace. `network`: a descriptor of the namespace that outlives this object.

    void lockRoot(int network);
    void lockOther(int network);

    /// Unlocks all namespaces except the root's, whose owner unlocks it. Any thread may call it.
    void unlockOthers();

private:
    sockets::NetworkLock& root_;
    std::string name_;
    Log& log_;
    int rootNetwork_ = -1;  ///< namespace of lockRoot()
    std::map<int, std::unique_ptr<sockets::NetworkLock>> others_;
};

}  // namespace criu::namespaces
