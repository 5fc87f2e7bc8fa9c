// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::sockets {

/// Netlink sockets (netlink(7)): port, groups, peer and options. A socket with messages in its queue can't be dumped.
std::unique_ptr<files::FileKindDump> makeNetlinkDump();
std::unique_ptr<files::FileKindRestore> makeNetlinkRestore();

}  // namespace criu::sockets
