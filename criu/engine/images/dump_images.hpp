// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/image_dir.hpp"

namespace criu::engine {

struct Run;

/// Opens the directory that a dump or page server writes to, and its parent images (--prev-images-dir). Moves
/// Run::imagesDir away. Throws Error.
[[nodiscard]] ImageDir openDumpImages(Run& run);

}  // namespace criu::engine
