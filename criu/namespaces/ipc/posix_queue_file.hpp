// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::namespaces {

class PosixQueuesDump;

/// Descriptors of POSIX message queues that were opened by mq_open(3), or whose queue has no name any more. Those
/// opened by a path on a mount of their file system are regular files. `queues`: of the tree's own IPC namespace; null
/// if it has none, then such descriptors are refused.
std::unique_ptr<files::FileKindDump> makePosixQueueFileDump(PosixQueuesDump* queues);
/// `ownQueues`: the tree gets an IPC namespace with the queues of the images. Otherwise names would lead to queues of
/// others, and images with such descriptors are refused.
std::unique_ptr<files::FileKindRestore> makePosixQueueFileRestore(bool ownQueues);

}  // namespace criu::namespaces
