// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace criu {

class ByteStream;
class ImageDir;

/// Amount of received data.
struct StreamAmounts {
    std::uint32_t files = 0;
    std::uint64_t bytes = 0;  ///< bytes of the stream itself
};

/// Reads a stream (stream_format) up to its end record. Puts the files into a directory and replaces files with
/// equal names. Leaves bytes after the end record in the stream.
///
/// Uses no data before it has verified the checksum. Throws Error, which names the offset, if the stream is damaged,
/// incomplete or of another format, and removes the files that it began.
StreamAmounts receiveStream(ByteStream& in, const ImageDir& into);

}  // namespace criu
