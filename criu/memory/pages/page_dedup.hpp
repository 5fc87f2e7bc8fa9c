// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Frees a page in the pages files of all parents if `images` has newer content of this page, because a restore reads
/// only the newer content. The pages files get holes and keep their lengths. Returns the number of freed bytes,
/// including older holes. `images` must have its parents open. `checkStop`: called between ranges; throws to stop the
/// work.
///
/// Throws Error before it frees a page if a parent is signed, or if images of the chain are encrypted. Throws Error,
/// possibly after it has freed pages, if a pages file is missing or too short, or if a file operation fails.
std::uint64_t freeReplacedPages(const ImageDir& images, const std::function<void()>& checkStop);

/// Punches a hole into a file. The length of the file doesn't change. Throws Error.
void punchHole(int file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace criu::memory
