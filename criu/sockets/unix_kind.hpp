// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.hpp"

namespace criu::sockets {

/// Unix sockets of all types, with names, connections, queues and what is in flight in them.
std::unique_ptr<files::FileKind> makeUnixKind();

}  // namespace criu::sockets
