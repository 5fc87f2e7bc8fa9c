// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

namespace criu {

class ImageDir;

/// Returns true if the images directory is on a file system that a power cut doesn't empty.
[[nodiscard]] bool isOnDisk(const ImageDir& images);

/// Writes all files in the images directory to the disk, then the directory itself (fsync(2)). Also does this for the
/// parent images, to which "parent" links lead. Throws Error. `checkStop`: called before each file; may throw.
void syncImages(const ImageDir& images, const std::function<void()>& checkStop);

}  // namespace criu
