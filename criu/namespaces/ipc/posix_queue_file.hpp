// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::namespaces {

class PosixQueuesDump;

/// Creates the dump half for descriptors of POSIX message queues that were opened by mq_open(3), or whose queue is
/// deleted. A queue that was opened by a path on a mounted mqueue file system is a regular file. `queues`: queues of
/// the private IPC namespace; if null, the tree has no private namespace, and such descriptors are refused.
std::unique_ptr<files::FileKindDump> makePosixQueueFileDump(PosixQueuesDump* queues);
/// Creates the restore half. `ownQueues`: true if the tree gets a private IPC namespace with the queues of the images.
/// If it is false, such descriptors are refused, because their names would lead to other queues.
std::unique_ptr<files::FileKindRestore> makePosixQueueFileRestore(bool ownQueues);

}  // namespace criu::namespaces
