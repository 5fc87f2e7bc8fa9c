// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/network_locks.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Calls `release` in the namespace. If criu can't enter the namespace, the namespace has ended together with its lock,
/// so does nothing.
template <typename Release>
void releaseIn(int network, Release&& release) noexcept {
    try {
        const kernel::NamespaceVisit visit(network, NamespaceKind::Net);
        release();
    } catch (const std::exception&) {
        return;
    }
}

}  // namespace

NetworkLocks::~NetworkLocks() {
    if (rootNetwork_ >= 0)
        releaseIn(rootNetwork_, [this] { root_.release(); });
    for (const auto& [network, lock] : others_)
        releaseIn(network, [&lock = lock] { lock->release(); });
}

void NetworkLocks::lockRoot(int network) {
    rootNetwork_ = network;
    root_.ensureNamespace();
}

void NetworkLocks::lockOther(int network) {
    auto& lock = others_[network];
    lock = std::make_unique<sockets::NetworkLock>(root_.method(), name_, log_);
    lock->ensureNamespace();
}

void NetworkLocks::unlockOthers() {
    for (const auto& [network, lock] : others_) {
        const kernel::NamespaceVisit visit(network, NamespaceKind::Net);
        lock->unlock();
    }
}

}  // namespace criu::namespaces
