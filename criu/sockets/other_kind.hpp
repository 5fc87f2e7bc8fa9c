// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::sockets {

/// Refuses sockets of all families that can't be dumped. Its position is after all other socket kinds.
std::unique_ptr<files::FileKindDump> makeOtherSocketDump();

}  // namespace criu::sockets
