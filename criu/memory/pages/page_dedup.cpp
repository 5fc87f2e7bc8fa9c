// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_dedup.hpp"

#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/memory/pages/parent_pages.hpp"
#include "criu/memory/pages/stored_objects.hpp"
#include "criu/memory/shmem/memory_object.hpp"

namespace criu::memory {
namespace {

/// Pages of one object in one parent dump. free() frees ranges of them.
class Ancestor {
public:
    Ancestor(const ImageDir& dir, Pagemap pagemap)
        : dir_(dir), pagemap_(std::move(pagemap)), files_(pagemap_.openPages(dir, O_RDWR)) {}

    /// Frees a range of addresses. Calls must be in ascending order of addresses.
    void free(std::uint64_t start, std::uint64_t end) {
        for (const PagemapRange& range : pagemap_.from(start)) {
            if (range.vaddr >= end)
                return;
            if (!has(range.flags, PageFlags::Present))
                continue;
            const std::uint64_t from = std::max(range.vaddr, start);
            const std::uint64_t to = std::min(range.end(), end);
            note(range.contentOffset + (from - range.vaddr), to - from);
        }
    }

    std::uint64_t finish() {
        freeNoted();
        return freed_;
    }

private:
    /// Collects adjacent content to free it as one hole, because one system call for each page would be slow.
    void note(std::uint64_t position, std::uint64_t bytes) {
        if (position != position_ + bytes_) {
            freeNoted();
            position_ = position;
        }
        bytes_ += bytes;
    }

    void freeNoted() {
        const PageStripes& stripes = pagemap_.stripes();
        freed_ += bytes_;
        while (bytes_ != 0) {
            const PageStripes::Place place = stripes.place(position_);
            const std::uint64_t part = std::min(bytes_, place.together);
            const ErrorContext context([&] {
                return fmt::format("{}/{}", dir_.name(), imageName(ImageKind::Pages, stripes.files[place.file]));
            });
            punchHole(files_.at(place.file).get(), place.offset, part);
            position_ += part;
            bytes_ -= part;
        }
    }

    const ImageDir& dir_;
    const Pagemap pagemap_;
    const std::vector<UniqueFd> files_;
    std::uint64_t position_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t freed_ = 0;
};

std::uint64_t freeReplaced(const ImageDir& images, const MemoryObject& object, const std::function<void()>& checkStop) {
    const auto own = Pagemap::load(images, pagemapOf(object), object.id);
    if (!own)
        return 0;
    std::deque<Ancestor> ancestors;
    for (const ImageDir* dir = images.parent(); dir != nullptr; dir = dir->parent()) {
        auto pagemap = Pagemap::load(*dir, pagemapOf(object), object.id);
        if (!pagemap)
            break;  // a dump without pages of the object has no parent with such pages
        if (pagemap->codec() != 0)
            continue;  // a compressed block contains several pages and can't be freed in part
        ancestors.emplace_back(*dir, std::move(*pagemap));
    }
    if (ancestors.empty())
        return 0;
    (void)own->openPages(images, O_RDONLY);  // throws if content is missing
    for (const PagemapRange& range : own->ranges()) {
        if (!has(range.flags, PageFlags::Present))
            continue;
        checkStop();
        for (Ancestor& ancestor : ancestors)
            ancestor.free(range.vaddr, range.end());
    }
    std::uint64_t freed = 0;
    for (Ancestor& ancestor : ancestors)
        freed += ancestor.finish();
    return freed;
}

}  // namespace

void punchHole(int file, std::uint64_t offset, std::uint64_t bytes) {
    int result = 0;
    do {
        result = ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                             static_cast<off_t>(bytes));
    } while (result != 0 && errno == EINTR);
    sys(result, "free {} bytes at {:#x}", bytes, offset);
}

std::uint64_t freeReplacedPages(const ImageDir& images, const std::function<void()>& checkStop) {
    for (const ImageDir* each = images.parent(); each != nullptr; each = each->parent())
        if (each->exists(ImageKind::Signature))
            fail("the images in {} are signed: the signature wouldn't match files with holes", each->name());
    for (const ImageDir* each = &images; each != nullptr; each = each->parent())
        if (areEncrypted(*each))
            fail("the images in {} are encrypted: files with holes can't be decrypted", each->name());
    std::uint64_t freed = 0;
    for (const MemoryObject& object : objectsIn(images))
        // Skips files and devices: each dump has their complete contents, so no restore reads them from parents.
        if (object.kind == MemoryObject::Kind::Process || object.kind == MemoryObject::Kind::Shared)
            freed += freeReplaced(images, object, checkStop);
    return freed;
}

}  // namespace criu::memory
