// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Answers requests for pages, in the protocol of CRIU 4.2, until the client needs no more. `reused`: the connection is
/// used afterwards. Throws Error, also if the client closes the connection without a message.
void servePageRequests(memory::PageConnection& client, memory::PageSupplier& pages, bool reused);

/// Serves pages of a frozen tree that its dump (--lazy-pages) has not stored.
void serveFrozenPages(memory::PageConnection& client, FrozenTree& tree, bool reused);

/// Serves pages of processes from a directory of images and its parents.
void serveImagePages(memory::PageConnection& client, ImageDir& images, bool reused);

}  // namespace criu::engine
