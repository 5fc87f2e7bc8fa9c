// SPDX-License-Identifier: GPL-2.0-only
#pragma once
#include "gpu/subject.hpp"

namespace gpu {

// Passes descriptors of dma-bufs: open, inherited by a child, received before the dump, and received after the restore.
// A process that imports one must get the original buffer. With `in_flight` the last one is in the socket during the
// dump.
void pass_dmabufs(Subject& subject, bool in_flight);

}  // namespace gpu
