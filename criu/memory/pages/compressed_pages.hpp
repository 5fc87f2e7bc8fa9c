// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>

#include "criu/memory/pages/codec.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/page_source.hpp"

namespace criu {
class ImageDir;
class Pagemap;
}  // namespace criu

/// Compressed storage of pages: a pagemap and one pages file. Each thread of the dump compresses complete blocks. A
/// block that doesn't shrink is stored uncompressed, and a block of zeroes is omitted.
namespace criu::memory {

struct Compression;

/// Creates a sink for compressed pages. `images` must outlive the sink. `number`: number of the pages file.
/// `compression` must have a codec.
[[nodiscard]] std::unique_ptr<PageSink> makeCompressedSink(const ImageDir& images, const MemoryObject& object,
                                                           std::uint32_t number, const Compression& compression);

/// Returns the codec of a pagemap's content, or null if the content is uncompressed. Throws Error for an unknown codec.
[[nodiscard]] std::shared_ptr<const Codec> codecOf(const Pagemap& pagemap);

/// Opens content that a compressed sink stored. `pagemap` must outlive the result.
[[nodiscard]] std::unique_ptr<PageContent> openCompressed(const ImageDir& images, const Pagemap& pagemap,
                                                          std::shared_ptr<const Codec> codec);

}  // namespace criu::memory
