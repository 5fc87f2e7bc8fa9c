// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;
}  // namespace criu::namespaces

namespace criu::sockets {
class NetworkLock;
}

namespace criu::namespaces {

/// Restores the network namespaces of processes and sockets; null if the tree is in criu's. The root's is a new one,
/// filled from the images, or one that the user names (--join-ns, --inherit-fd), or criu's. The others are new or
/// external. criu holds new ones only by descriptors, so a failed restore leaves none. `lock`: of the root's namespace,
/// or of single connections in criu's. For a private namespace it is adopted or set here; its owner unlocks it.
/// `lockName`: of the other namespaces' locks.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeNetworkRestore(const RestoreInputs& inputs,
                                                                   sockets::NetworkLock& lock, std::string lockName);

}  // namespace criu::namespaces
