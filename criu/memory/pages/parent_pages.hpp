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

/// Returns the image kind of an object's pagemap. The image number is that of the object.
[[nodiscard]] ImageKind pagemapOf(const MemoryObject& object) noexcept;

/// Pages of one memory object that the parent of a dump has, itself or through its parents.
class ParentPages {
public:
    /// Reads them from an images directory; nullopt if it has no pagemap of the object. Throws Error.
    static std::optional<ParentPages> in(const ImageDir& parent, const MemoryObject& object);
    /// Returns all pages, for a receiver that finds out itself.
    static ParentPages all() { return ParentPages(std::nullopt); }

    /// Visits an address range in ascending order; the last argument is true if the parent has the pages.
    void forEach(std::uint64_t start, std::uint64_t end,
                 const std::function<void(std::uint64_t, std::uint64_t, bool)>& visit) const;

private:
    explicit ParentPages(std::optional<Pagemap> pagemap) : pagemap_(std::move(pagemap)) {}

    std::optional<Pagemap> pagemap_;
};

}  // namespace criu::memory
