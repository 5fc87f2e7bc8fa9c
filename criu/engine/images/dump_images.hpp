// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/image_dir.hpp"

namespace criu::engine {

struct Run;

/// Opens the images directory to which a dump or page server writes, and opens its parent images (--prev-images-dir).
/// Takes the descriptor Run::imagesDir. Throws Error.
[[nodiscard]] ImageDir openDumpImages(Run& run);

}  // namespace criu::engine
