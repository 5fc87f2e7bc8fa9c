// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

/// Fd kinds of files without a path (anonymous inodes and BPF maps). Each fd kind has its own source file.
namespace criu::files {

/// eventfd(2): images contain the counter and the flag EFD_SEMAPHORE.
std::unique_ptr<FileKindDump> makeEventFdDump();
std::unique_ptr<FileKindRestore> makeEventFdRestore();

/// signalfd(2): images contain the signal mask. Pending signals belong to the process, not to the file.
std::unique_ptr<FileKindDump> makeSignalFdDump();
std::unique_ptr<FileKindRestore> makeSignalFdRestore();

/// timerfd_create(2): images contain the clock, the remaining time, the interval, unread expirations, and flags of the
/// most recent timerfd_settime(2). They don't contain the deadline of an absolute timer. So such a timer expires later,
/// by the time between dump and restore.
std::unique_ptr<FileKindDump> makeTimerFdDump();
std::unique_ptr<FileKindRestore> makeTimerFdRestore();

/// pidfd_open(2): pidfds of processes of the tree and of reaped processes. For a reaped process, a restore opens pidfds
/// of a placeholder process that has ended. The exit status isn't restored.
std::unique_ptr<FileKindDump> makePidFdDump();
std::unique_ptr<FileKindRestore> makePidFdRestore();

/// epoll_create(2): images contain the set of targets with their events and data. They name a target by its descriptor
/// number in the process. If the process has closed that number, the image also contains the file's id; CRIU can't dump
/// most such targets.
///
/// The ready list isn't dumped, because the kernel creates it again when a restore adds the targets. So a ready target
/// is reported again, even if its edge-triggered event (EPOLLET) was reported before the dump.
std::unique_ptr<FileKindDump> makeEpollDump();
std::unique_ptr<FileKindRestore> makeEpollRestore();

/// bpf(2): hash and array maps. Images contain attributes, elements, the frozen flag, and all open file descriptions;
/// criu refuses maps of other types. A restore creates a new map. Outside programs continue to use the old map.
std::unique_ptr<FileKindDump> makeBpfMapDump();
std::unique_ptr<FileKindRestore> makeBpfMapRestore();

}  // namespace criu::files
