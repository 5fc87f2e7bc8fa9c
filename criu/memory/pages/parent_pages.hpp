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

/// Of what kind the image is that says which pages of an object there are. Its number is that of the object.
[[nodiscard]] ImageKind pagemapOf(const MemoryObject& object) noexcept;

/// Which pages of one memory object the parent of a dump has, itself or by its own parents.
class ParentPages {
public:
    /// Those of a directory of images; nothing if that has no pagemap of the object. Throws Error.
    static std::optional<ParentPages> in(const ImageDir& parent, const MemoryObject& object);
    /// All that may be asked for: whoever stores the pages will see to that.
    static ParentPages all() { return ParentPages(std::nullopt); }

    /// Visits all of an address range in ascending order, with whether the parent has the pages.
    void forEach(std::uint64_t start, std::uint64_t end,
                 const std::function<void(std::uint64_t, std::uint64_t, bool)>& visit) const;

private:
    explicit ParentPages(std::optional<Pagemap> pagemap) : pagemap_(std::move(pagemap)) {}

    std::optional<Pagemap> pagemap_;
};

}  // namespace criu::memory
