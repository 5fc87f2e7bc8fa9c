// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

/// Kinds of files without a path whose sources declare nothing else (anonymous inodes, bpf(2)).
namespace criu::files {

/// eventfd(2): counter and EFD_SEMAPHORE.
std::unique_ptr<FileKindDump> makeEventFdDump();
std::unique_ptr<FileKindRestore> makeEventFdRestore();

/// signalfd(2): the mask. Pending signals belong to the process, not to the file.
std::unique_ptr<FileKindDump> makeSignalFdDump();
std::unique_ptr<FileKindRestore> makeSignalFdRestore();

/// timerfd_create(2): clock, time left, interval, unread expirations, flags of the last timerfd_settime(2). Images have
/// the time left, not the deadline, so an absolute timer expires later by the time between dump and restore.
std::unique_ptr<FileKindDump> makeTimerFdDump();
std::unique_ptr<FileKindRestore> makeTimerFdRestore();

/// pidfd_open(2) of processes of the tree and of reaped processes. The latter are restored as pidfds of a placeholder
/// process that has ended; its exit status isn't restored.
std::unique_ptr<FileKindDump> makePidFdDump();
std::unique_ptr<FileKindRestore> makePidFdRestore();

/// epoll_create(2): the set, with events and data. Images name a target by its descriptor number in the process. If
/// that number was closed, the image also has the file's id; CRIU can't dump most of these. The ready list isn't
/// dumped: the kernel creates a new one when targets are added. So ready targets are reported, even edge-triggered
/// events (EPOLLET) that were reported before.
std::unique_ptr<FileKindDump> makeEpollDump();
std::unique_ptr<FileKindRestore> makeEpollRestore();

/// Hash and array maps of bpf(2): attributes, elements, the frozen flag, and all open file descriptions. Maps of other
/// types are refused. A restore creates a new map; external programs keep using the old one.
std::unique_ptr<FileKindDump> makeBpfMapDump();
std::unique_ptr<FileKindRestore> makeBpfMapRestore();

}  // namespace criu::files
