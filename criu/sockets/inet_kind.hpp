// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::sockets {

/// Sockets of IPv4 and IPv6: TCP, UDP, UDP-Lite, raw, ping. `lock` holds back the packets of TCP connections meanwhile.
std::unique_ptr<files::FileKind> makeInetKind(NetworkLock& lock);

}  // namespace criu::sockets
