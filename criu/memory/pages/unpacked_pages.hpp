// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class ImageDir;
class StopRequest;
}  // namespace criu

namespace criu::memory {

/// Decompresses all compressed pages files of a directory by confined processes, one for each pages file. Stores the
/// uncompressed files in the spool `into`. Throws Error, also if the content doesn't fit in the spool.
void unpackPages(const ImageDir& images, const ImageDir& into, StopRequest& stop);

}  // namespace criu::memory
