// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// epoll_create(2): the set, with events and data. Images name a target by its descriptor number in the process. If
/// that number was closed, the image also has the file's id; CRIU can't dump most of these. The ready list isn't
/// dumped: the kernel creates a new one when targets are added. So ready targets are reported, even edge-triggered
/// events (EPOLLET) that were reported before.
std::unique_ptr<FileKindDump> makeEpollDump();
std::unique_ptr<FileKindRestore> makeEpollRestore();

}  // namespace criu::files
