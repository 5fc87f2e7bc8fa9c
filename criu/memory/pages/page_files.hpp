// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/memory/pages/page_source.hpp"

namespace criu {
class ImageDir;
}

/// Pages in an images directory, in the format of CRIU 4.2. Each memory object has a pagemap that lists its pages, and
/// a numbered pages file with the content of present pages.
namespace criu::memory {

/// Sources of pages in an images directory and its parents.
class FilePageSources final : public PageSources {
public:
    /// `images` must outlive this object and have its parents open (ImageDir::openParents()). `compares`: true to
    /// compare content with its checksums, if the images have checksums.
    explicit FilePageSources(const ImageDir& images, bool compares = true) noexcept
        : images_(images), compares_(compares) {}

    [[nodiscard]] std::optional<PageSource> open(const MemoryObject& object) const override;
    [[nodiscard]] std::string describe(const MemoryObject& object) const override;

private:
    const ImageDir& images_;
    const bool compares_;
};

}  // namespace criu::memory
