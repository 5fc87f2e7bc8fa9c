// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Frees pages in the pages files of all parents if `images` has newer content of these pages, which a restore reads in
/// their place. The pages files get holes and keep their lengths. Returns the number of freed bytes, including older
/// holes.
/// `images` must have its parents open. `checkStop` is called between ranges, and throws to stop the work.
/// Throws Error if a parent is signed, or if images of the chain are encrypted; no page is freed in these cases. Throws
/// Error if a pages file is missing or too short, or if a file operation fails; pages of other objects may then be
/// freed.
std::uint64_t freeReplacedPages(const ImageDir& images, const std::function<void()>& checkStop);

/// Punches a hole into a file, which keeps its length. Throws Error.
void punchHole(int file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace criu::memory
