// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/parent_pages.hpp"

#include <algorithm>

#include "criu/image/image_dir.hpp"
#include "criu/memory/shmem/memory_object.hpp"

namespace criu::memory {

ImageKind pagemapOf(const MemoryObject& object) noexcept {
    switch (object.kind) {
        case MemoryObject::Kind::Process:
            return ImageKind::Pagemap;
        case MemoryObject::Kind::Shared:
            return ImageKind::ShmemPagemap;
        case MemoryObject::Kind::Files:
            return ImageKind::FilesPagemap;
        case MemoryObject::Kind::Device:
            return ImageKind::DevicePagemap;
    }
    return ImageKind::Pagemap;
}

std::optional<ParentPages> ParentPages::in(const ImageDir& parent, const MemoryObject& object) {
    auto pagemap = Pagemap::load(parent, pagemapOf(object), object.id);
    if (!pagemap)
        return std::nullopt;
    return ParentPages(std::move(pagemap));
}

void ParentPages::forEach(std::uint64_t start, std::uint64_t end,
                          const std::function<void(std::uint64_t, std::uint64_t, bool)>& visit) const {
    if (!pagemap_)
        return visit(start, end, true);
    std::uint64_t done = start;
    for (const PagemapRange& range : pagemap_->from(start)) {
        if (range.vaddr >= end)
            break;
        // Skips lazy pages, because images lack their content.
        if (!has(range.flags, PageFlags::Present) && !has(range.flags, PageFlags::Parent))
            continue;
        const std::uint64_t from = std::max(range.vaddr, start);
        const std::uint64_t to = std::min(range.end(), end);
        if (done < from)
            visit(done, from, false);
        visit(from, to, true);
        done = to;
    }
    if (done < end)
        visit(done, end, false);
}

}  // namespace criu::memory
