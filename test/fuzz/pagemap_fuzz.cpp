// SPDX-License-Identifier: GPL-2.0-only
// Input: a pagemap file. The result must keep the guarantees of Pagemap, and must stay equal when it is written and
// read again.
#include "criu/image/pagemap.hpp"
#include "criu/image/reader.hpp"
#include "test/fuzz/input.hpp"

using criu::fuzz::require;

namespace {

void checkPromises(const criu::Pagemap& pagemap) {
    std::uint64_t end = 0;
    std::uint64_t content = 0;
    for (const criu::PagemapRange& range : pagemap.ranges()) {
        require(range.pages > 0 && range.vaddr % 4096 == 0 && range.vaddr >= end && range.end() > range.vaddr);
        require(range.contentOffset == content);
        require(pagemap.find(range.vaddr) == &range && pagemap.find(range.end() - 1) == &range);
        end = range.end();
        if (criu::has(range.flags, criu::PageFlags::Present))
            content += range.bytes();
    }
    require(content == pagemap.contentSize() && content <= INT64_MAX);
    std::uint64_t stored = 0;
    for (std::size_t file = 0; file < pagemap.stripes().files.size(); ++file)
        stored += pagemap.stripes().sizeOf(file, content);
    require(stored == content);
}

criu::Pagemap rewritten(const criu::Pagemap& pagemap) {
    criu::UniqueFd file = criu::fuzz::fileOf({});
    criu::UniqueFd again(::dup(file.get()));
    criu::PagemapWriter writer(criu::ImageWriter(std::move(file), criu::ImageKind::Pagemap, "again"),
                               pagemap.stripes());
    for (const criu::PagemapRange& range : pagemap.ranges())
        writer.add(range.vaddr, range.pages, range.flags);
    writer.finish();
    require(::lseek(again.get(), 0, SEEK_SET) == 0);
    return criu::Pagemap(criu::ImageReader(std::move(again), criu::ImageKind::Pagemap, "again"));
}

void checkSame(const criu::Pagemap& pagemap, const criu::Pagemap& again) {
    checkPromises(again);
    require(again.contentSize() == pagemap.contentSize() && again.stripes() == pagemap.stripes());
    for (const criu::PagemapRange& range : pagemap.ranges()) {
        const criu::PagemapRange* const merged = again.find(range.vaddr);
        require(merged != nullptr && merged->flags == range.flags && merged->end() >= range.end());
    }
}

std::optional<criu::Pagemap> read(std::span<const std::uint8_t> content) {
    try {
        return criu::Pagemap(criu::ImageReader(criu::fuzz::fileOf(content), criu::ImageKind::Pagemap, "pagemap-1.img"));
    } catch (const criu::Error&) {
        return std::nullopt;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (const auto pagemap = read({data, size})) {
        checkPromises(*pagemap);
        checkSame(*pagemap, rewritten(*pagemap));
    }
    return 0;
}
