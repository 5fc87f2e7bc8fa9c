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

/// A pagemap and one pages file, whose content is compressed in blocks: by all threads that dump, each block by one.
/// What doesn't get smaller is stored as it is, and blocks of zeroes not at all.
namespace criu::memory {

struct Compression;

/// `number`: of the pages file. `compression` has a codec. The sink must not outlive `images`.
[[nodiscard]] std::unique_ptr<PageSink> makeCompressedSink(const ImageDir& images, const MemoryObject& object,
                                                           std::uint32_t number, const Compression& compression);

/// The codec that a pagemap's content needs; null if it isn't compressed. Throws Error if there is no such codec.
[[nodiscard]] std::shared_ptr<const Codec> codecOf(const Pagemap& pagemap);

/// Opens the content of such a pagemap, which must outlive it.
[[nodiscard]] std::unique_ptr<PageContent> openCompressed(const ImageDir& images, const Pagemap& pagemap,
                                                          std::shared_ptr<const Codec> codec);

}  // namespace criu::memory
