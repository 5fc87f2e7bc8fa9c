// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/image/image_dir.hpp"

namespace criu {

/// The kind of image that a file of this name is; nothing for other names.
[[nodiscard]] std::optional<ImageKind> imageKindOf(std::string_view file);

/// Removes what an earlier dump has left in a directory, the inventory first: without that a directory is recognisably
/// no checkpoint. What commands other than dump write there stays, and so do statistics. Throws Error.
void removeOldImages(const ImageDir& images);

/// Names of all that is in the directory. Throws Error.
[[nodiscard]] std::vector<std::string> namesIn(const ImageDir& images);

}  // namespace criu
