// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/open_fd.hpp"

namespace criu::sockets {

/// Throws Error for a socket of another network namespace than criu's own.
void refuseForeign(const files::OpenFd& file);

}  // namespace criu::sockets
