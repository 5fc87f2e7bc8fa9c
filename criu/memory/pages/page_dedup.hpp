// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Frees the storage of pages in pages files of parents if a later dump replaces these pages, so no restore from
/// `images` reads them. The files keep their lengths and get holes.
/// - `images` must have its parents open and all pages files. No parent may be signed, and no directory encrypted.
/// - `checkStop` is called between pieces, and throws to end the work.
/// - The result is the number of freed bytes, in which ranges that were already holes count again.
/// - A thrown Error means that nothing was freed, except if a file operation failed.
std::uint64_t freeReplacedPages(const ImageDir& images, const std::function<void()>& checkStop);

/// Punches a hole into a file without changing the length of the file. Throws Error.
void punchHole(int file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace criu::memory
