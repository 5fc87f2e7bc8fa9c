// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/memory/pages/page_source.hpp"

namespace criu {
class ImageDir;
}

/// Pages as files of an image directory, the form that CRIU 4.2 has: for each memory object a pagemap that says what
/// pages there are, and a numbered file with the content of those that are present.
namespace criu::memory {

/// Reads such files, in a directory and in those that its link "parent" leads to.
class FilePageSources final : public PageSources {
public:
    /// `images` outlives this object; if it has parents, they have been opened (ImageDir::openParents()). `compares`:
    /// content that has checksums is compared with them as it is read.
    explicit FilePageSources(const ImageDir& images, bool compares = true) noexcept
        : images_(images), compares_(compares) {}

    [[nodiscard]] std::optional<PageSource> open(const MemoryObject& object) const override;
    [[nodiscard]] std::string describe(const MemoryObject& object) const override;

private:
    const ImageDir& images_;
    const bool compares_;
};

}  // namespace criu::memory
