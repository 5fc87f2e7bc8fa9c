// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// timerfd_create(2): clock, time left, interval, unread expirations, flags of the last timerfd_settime(2). Images have
/// the time left, not the deadline, so an absolute timer expires later by the time between dump and restore.
std::unique_ptr<FileKindDump> makeTimerFdDump();
std::unique_ptr<FileKindRestore> makeTimerFdRestore();

}  // namespace criu::files
