// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class ImageDir;
}

namespace criu::engine {

struct Run;

/// Unpacks the compressed images of a directory into a spool (ImageDir::setUnpacked), by confined processes: pages
/// files by LZ4 or zstd, and archives of file systems by libarchive. Needs the image version of the directory. Throws
/// Error.
void unpackConfined(ImageDir& images, const Run& run);

}  // namespace criu::engine
