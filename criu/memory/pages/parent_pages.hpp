// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "criu/image/pagemap.hpp"

namespace criu {
class ImageDir;
}

namespace criu::memory {

struct MemoryObject;

/// Returns the image kind of an object's pagemap. The number of the image is the id of the object.
[[nodiscard]] ImageKind pagemapOf(const MemoryObject& object) noexcept;

/// List of those pages of one memory object that the parent of a dump, or one of the parent's parents, has.
class ParentPages {
public:
    /// Reads the list from an images directory. Returns nullopt if the directory has no pagemap of the object. Throws
    /// Error.
    static std::optional<ParentPages> in(const ImageDir& parent, const MemoryObject& object);
    /// Returns a list that contains every page. Used with a page server, because the server finds missing pages itself.
    static ParentPages all() { return ParentPages(std::nullopt); }

    /// Calls `visit` with parts of an address range in ascending order. The last argument is true if the parent has the
    /// pages of the part.
    void forEach(std::uint64_t start, std::uint64_t end,
                 const std::function<void(std::uint64_t, std::uint64_t, bool)>& visit) const;

    /// Returns true if the directory has the pages of this object in several pages files.
    [[nodiscard]] bool areStriped() const noexcept { return pagemap_ && pagemap_->stripes().files.size() > 1; }

private:
    explicit ParentPages(std::optional<Pagemap> pagemap) : pagemap_(std::move(pagemap)) {}

    std::optional<Pagemap> pagemap_;
};

}  // namespace criu::memory
