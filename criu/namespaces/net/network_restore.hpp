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

/// The network namespaces that restored processes and their sockets are in. That of the tree's root is a new one,
/// filled from the images; or one that the caller names (--join-ns, --inherit-fd for one that was external to the
/// dump); or that of criu. Others are new, or external as well.
/// New ones are held by descriptors only until processes are in them, so a failed restore leaves nothing of them.
/// `lock`: of the root's namespace, or of single connections if that is criu's. It is taken over or put in place here
/// if the namespace is the tree's own; its owner unlocks it. `lockName`: of the locks of other namespaces. Null if the
/// tree is where criu is.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeNetworkRestore(const RestoreInputs& inputs,
                                                                   sockets::NetworkLock& lock, std::string lockName);

}  // namespace criu::namespaces
