// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <memory>

#include "criu/engine/compare/difference.hpp"

namespace criu {
class ImageDir;
}

namespace criu::engine {

/// Compares images with images that a second dump has written of the restored tree. Both directories must have their
/// versions set, and their parents open. `checkStop`: called between pieces; throws to end the work. Throws Error for
/// damaged images.
[[nodiscard]] Differences compareCheckpoints(const ImageDir& image, const ImageDir& tree,
                                             const std::function<void()>& checkStop);

}  // namespace criu::engine
