// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class ImageDir;
}

namespace criu::engine {

struct Run;

/// With --auto-dedup, frees a page in parent images if the new dump also contains this page. Call it after the dump has
/// succeeded, so that a failed dump leaves its parent images unchanged. Only warns of a failure.
void dedupParents(const ImageDir& images, Run& run) noexcept;

}  // namespace criu::engine
