// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/image_dir.hpp"

namespace criu::engine {

struct Run;

/// The directory that a dump, or a page server, writes to, with its parent if it is to have one (--prev-images-dir).
/// Takes over Run::imagesDir. Throws Error.
[[nodiscard]] ImageDir openDumpImages(Run& run);

}  // namespace criu::engine
