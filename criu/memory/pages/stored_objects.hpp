// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/memory/shmem/memory_object.hpp"

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Returns the objects whose pagemaps are in a directory, in ascending order. Throws Error.
[[nodiscard]] std::vector<MemoryObject> objectsIn(const ImageDir& images);

}  // namespace criu::memory
