// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class ImageDir;
}

namespace criu::memory {
class PageConnection;
class PageSupplier;
}  // namespace criu::memory

namespace criu::engine {

class FrozenTree;

/// Answers requests for pages, in CRIU 4.2's protocol, until the other side says that it needs no more. `reused`: the
/// connection goes on behind that. Throws Error, also if the other side goes without a word.
void servePageRequests(memory::PageConnection& client, memory::PageSupplier& pages, bool reused);

/// The same for pages of a tree that stands still: those that its dump (--lazy-pages) has left where they are.
void serveFrozenPages(memory::PageConnection& client, FrozenTree& tree, bool reused);

/// The same for pages of processes in a directory of images, its parents included.
void serveImagePages(memory::PageConnection& client, ImageDir& images, bool reused);

}  // namespace criu::engine
