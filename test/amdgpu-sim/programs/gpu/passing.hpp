// SPDX-License-Identifier: GPL-2.0-only
#pragma once
#include "gpu/subject.hpp"

namespace gpu {

// Descriptors of dma-bufs: kept open, inherited by a child, received over a socket before, and received only
// afterwards. Whoever imports one then has the buffer it is of. With `in_flight` the last one lies in the socket
// meanwhile.
void pass_dmabufs(Subject& subject, bool in_flight);

}  // namespace gpu
