// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Frees pages in the pages files of all parents that the images directory replaces; a restore from it doesn't read
/// them. The files keep their lengths and get holes.
/// `images` must have its parents open. `checkStop` is called between pieces, and throws to end the work. Returns the
/// freed bytes, counting existing holes again.
/// Throws Error, and then has freed nothing unless a file operation failed. Requires that the directory has all its
/// pages and that no parent is signed.
std::uint64_t freeReplacedPages(const ImageDir& images, const std::function<void()>& checkStop);

/// Punches a hole into a file, which keeps its length. Throws Error.
void punchHole(int file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace criu::memory
