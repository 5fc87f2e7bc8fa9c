// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::namespaces {

class PosixQueuesDump;

/// Creates the dump half for descriptors of POSIX message queues. The queue was opened by mq_open(3), or is deleted. A
/// queue that was opened by a path on a mounted mqueue file system is a regular file. `queues`: queues of the private
/// IPC namespace. If the tree has no private IPC namespace, `queues` is null, and the dump half refuses such
/// descriptors.
std::unique_ptr<files::FileKindDump> makePosixQueueFileDump(PosixQueuesDump* queues);
/// Creates the restore half. `ownQueues`: true if the tree gets a private IPC namespace with the queues of the images.
/// If false, refuses such descriptors, because their names would lead to other queues.
std::unique_ptr<files::FileKindRestore> makePosixQueueFileRestore(bool ownQueues);

}  // namespace criu::namespaces
