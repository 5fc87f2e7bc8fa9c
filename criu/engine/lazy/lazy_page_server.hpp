// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Serves requests for pages in the protocol of CRIU 4.2, until the client sends the last message. Throws Error, also
/// if the client closes the connection before this message. `reused`: true if the caller still uses the connection
/// afterwards.
void servePageRequests(memory::PageConnection& client, memory::PageSupplier& pages, bool reused);

/// Serves the lazy pages of a frozen tree, which its dump (--lazy-pages) hasn't stored.
void serveFrozenPages(memory::PageConnection& client, FrozenTree& tree, bool reused);

/// Serves pages of processes from a directory of images and its parents.
void serveImagePages(memory::PageConnection& client, ImageDir& images, bool reused);

}  // namespace criu::engine
