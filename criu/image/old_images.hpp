// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/image/image_dir.hpp"

namespace criu {

/// Returns the kind of the image with this file name; nothing for other names.
[[nodiscard]] std::optional<ImageKind> imageKindOf(std::string_view file);

/// Removes images of an earlier dump, the inventory first: without it, the directory isn't a valid checkpoint. Keeps
/// statistics and files of commands other than dump. Throws Error.
void removeOldImages(const ImageDir& images);

/// Returns the names of all entries of the directory. Throws Error.
[[nodiscard]] std::vector<std::string> namesIn(const ImageDir& images);

}  // namespace criu
