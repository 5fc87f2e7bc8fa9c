// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::namespaces {

class PosixQueuesDump;

/// Descriptors of POSIX message queues that were opened by mq_open(3) or whose queue is deleted. A queue opened by a
/// path on a mounted mqueue file system is a regular file. `queues`: of the private IPC namespace; null if the tree has
/// none, then such descriptors are refused.
std::unique_ptr<files::FileKindDump> makePosixQueueFileDump(PosixQueuesDump* queues);
/// `ownQueues`: the tree gets a private IPC namespace with the queues of the images. Without it, images with such
/// descriptors are refused, because names would lead to other queues.
std::unique_ptr<files::FileKindRestore> makePosixQueueFileRestore(bool ownQueues);

}  // namespace criu::namespaces
