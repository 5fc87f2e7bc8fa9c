// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// epoll_create(2): the set, with events and data. Images name a target by its number in the process that has the epoll
/// file. A target that this process has no such descriptor for (it was closed there, while others of the same open file
/// description live on) carries its file's id as well, which CRIU leaves 0: CRIU can't dump most of these.
/// The ready list isn't in the images: the kernel makes a new one when targets are added, so what is ready is reported,
/// even if edge-triggered events (EPOLLET) were reported before the dump.
std::unique_ptr<FileKindDump> makeEpollDump();
std::unique_ptr<FileKindRestore> makeEpollRestore();

}  // namespace criu::files
