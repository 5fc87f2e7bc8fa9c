// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class ImageDir;
}

namespace criu::engine {

struct Run;

/// With --auto-dedup, when a dump is complete: frees in its parents what it has itself. A dump that fails leaves them
/// as they were; that this fails is a warning only.
void dedupParents(const ImageDir& images, Run& run) noexcept;

}  // namespace criu::engine
