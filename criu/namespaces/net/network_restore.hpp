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

/// Creates the restore of network namespaces of processes and sockets; null if the tree is only in criu's. The root's
/// namespace is a new one with the content of the images, an existing one (--join-ns, --inherit-fd), or criu's. Other
/// namespaces are new or external. criu keeps new namespaces only by descriptors, so that none remains after a failed
/// restore.
/// - `lock`: lock of the root's private namespace, or of single connections in criu's. This object sets the lock of a
///   private namespace, or uses that of the dump; the owner of `lock` unlocks it.
/// - `lockName`: name for the locks of other namespaces.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeNetworkRestore(const RestoreInputs& inputs,
                                                                   sockets::NetworkLock& lock, std::string lockName);

}  // namespace criu::namespaces
