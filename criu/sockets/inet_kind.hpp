// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/files/file_kind.fwd.hpp"
#include "criu/sockets/inet_endpoint.hpp"

namespace criu::sockets {
class NetworkLock;
}

namespace criu::sockets {

/// Sockets of IPv4 and IPv6: TCP, UDP, UDP-Lite, raw, ping. `lock` drops packets of TCP connections while they are
/// dumped or restored.
std::unique_ptr<files::FileKindDump> makeInetDump(NetworkLock& lock);
/// `update` may replace addresses after --inet-map.
std::unique_ptr<files::FileKindRestore> makeInetRestore(NetworkLock& lock, AddressUpdate update);

}  // namespace criu::sockets
