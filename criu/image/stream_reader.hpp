// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace criu {

class ByteStream;
class ImageDir;

/// Number of received files, and bytes of the stream.
struct StreamAmounts {
    std::uint32_t files = 0;
    std::uint64_t bytes = 0;  ///< bytes of the stream, including headers
};

/// Reads a stream (stream_format) up to its End record, and stores its files in a directory. Replaces files that have
/// the names of received files. Doesn't read bytes after the End record. Uses data only after it has verified their
/// checksum. Throws Error if the stream is damaged, incomplete or of another format; the error contains the offset. If
/// the function fails, it removes the files that it created.
StreamAmounts receiveStream(ByteStream& in, const ImageDir& into);

}  // namespace criu
