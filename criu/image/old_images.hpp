// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/image/image_dir.hpp"

namespace criu {

/// Returns the kind of image that has a given file name; nullopt for names of other files.
[[nodiscard]] std::optional<ImageKind> imageKindOf(std::string_view file);

/// Removes the images of an earlier dump. Removes the inventory first: without it, the directory isn't a valid
/// checkpoint. Doesn't remove statistics and files of commands other than dump. Throws Error.
void removeOldImages(const ImageDir& images);

/// Returns the names of all entries of an images directory, including "." and "..". Throws Error.
[[nodiscard]] std::vector<std::string> namesIn(const ImageDir& images);

}  // namespace criu
