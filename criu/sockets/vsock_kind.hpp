// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::sockets {

/// Sockets between virtual machines and their host (vsock(7)) that listen or aren't connected. Connections are refused,
/// because the other machine has the other end.
std::unique_ptr<files::FileKindDump> makeVsockDump();
std::unique_ptr<files::FileKindRestore> makeVsockRestore();

}  // namespace criu::sockets
