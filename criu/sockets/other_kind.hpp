// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::sockets {

/// Sockets of all families that can't be dumped: claimed to be refused by name. Behind all other kinds of sockets.
std::unique_ptr<files::FileKindDump> makeOtherSocketDump();

}  // namespace criu::sockets
