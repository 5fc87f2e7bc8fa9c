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

/// The locks of a tree's network namespaces while it is restored. A lock that the dump left is taken over, and stays
/// when the restore fails; what a restore itself has locked is unlocked by the destructor, in the namespace that it is
/// of.
class NetworkLocks {
public:
    /// `root`: of the first process' namespace. `name`: of the others.
    NetworkLocks(sockets::NetworkLock& root, std::string name, Log& log)
        : root_(root), name_(std::move(name)), log_(log) {}
    ~NetworkLocks();
    NetworkLocks(const NetworkLocks&) = delete;
    NetworkLocks& operator=(const NetworkLocks&) = delete;

    // By a thread that is in the namespace; `network`: a descriptor of it, which outlives this object or unlock().

    void lockRoot(int network);
    void lockOther(int network);

    /// All but that of the first process' namespace, whose owner unlocks it. By any thread.
    void unlockOthers();

private:
    sockets::NetworkLock& root_;
    std::string name_;
    Log& log_;
    int rootNetwork_ = -1;  ///< of the namespace that lockRoot() was called in
    std::map<int, std::unique_ptr<sockets::NetworkLock>> others_;
};

}  // namespace criu::namespaces
