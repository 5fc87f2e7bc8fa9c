// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace criu {

class ByteStream;
class ImageDir;

/// What a stream had.
struct StreamAmounts {
    std::uint32_t files = 0;
    std::uint64_t bytes = 0;  ///< of the stream itself
};

/// Reads a stream (stream_format) to its end record and puts its files into a directory, in place of files of the same
/// names. Bytes behind the end are left in the stream.
///
/// Nothing of it is believed before its checksum was verified. Throws Error, which names the offset in the stream, for
/// one that is damaged, ends too early, or isn't one at all; then the files that had begun are removed again.
StreamAmounts receiveStream(ByteStream& in, const ImageDir& into);

}  // namespace criu
