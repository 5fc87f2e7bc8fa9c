// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class ImageDir;
}

namespace criu::engine {

struct Run;

/// Frees pages in parent images that the complete dump contains, too, with --auto-dedup. Called last, so that a failed
/// dump leaves its parent images unchanged. Only warns of a failure.
void dedupParents(const ImageDir& images, Run& run) noexcept;

}  // namespace criu::engine
