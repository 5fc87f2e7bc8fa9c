// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Frees, in the pages files of all parents of a directory of images, the pages that the directory has itself: a
/// restore from it doesn't read them. The files keep their lengths, and get holes. `images` has its parents open;
/// `checkStop` is called between pieces, and throws if the work is to end. Returns bytes that were freed, those of
/// holes counted again. Throws Error, and has freed nothing then unless a file couldn't be changed: all of the
/// directory's own pages have to be there, and no parent may be signed.
std::uint64_t freeReplacedPages(const ImageDir& images, const std::function<void()>& checkStop);

/// Makes a hole of a range of a file, which keeps its length. Throws Error.
void punchHole(int file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace criu::memory
