// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/provided_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <utility>

#include "criu/memory/pages/page_reader.hpp"

namespace criu::memory {
namespace {

class NoContent final : public PageContent {
    void read(std::uint64_t /*position*/, std::span<iovec> /*targets*/) const override {
        FAIL("the content of the images is read");
    }
};

class ImagesLayer final : public PageLayer {
public:
    [[nodiscard]] std::span<const PagemapRange> ranges() const override { return ranges_; }
    [[nodiscard]] std::unique_ptr<PageContent> open() const override { return std::make_unique<NoContent>(); }

private:
    const std::array<PagemapRange, 2> ranges_{
        {{0x10000, 16, PageFlags::Present, 0},
         {0x30000, 2, PageFlags::Present | PageFlags::Lazy, 16 * kImagePageSize}}};
};

std::unique_ptr<const PageSource> ofImages() {
    std::vector<std::unique_ptr<const PageLayer>> layers;
    layers.push_back(std::make_unique<ImagesLayer>());
    return std::make_unique<const PageSource>(std::move(layers));
}

/// Returns a file of four pages with content in the second and the fourth page.
UniqueFd withHoles(char content) {
    UniqueFd file(::memfd_create("provided", MFD_CLOEXEC));
    REQUIRE(::ftruncate(file.get(), 4 * kImagePageSize) == 0);
    const std::vector<char> page(kImagePageSize, content);
    for (const off_t at : {kImagePageSize, 3 * kImagePageSize})
        REQUIRE(::pwrite(file.get(), page.data(), page.size(), at) == static_cast<ssize_t>(page.size()));
    return file;
}

}  // namespace

TEST_CASE("pages of provided mappings come from the files, and others from the images") {
    kernel::FdStore store;
    store.openQueue();
    const std::vector<ProvidedFile> files{{{0x14000, 0x18000}, store.add(withHoles('a').get())},
                                          {{0x18000, 0x1c000}, store.add(withHoles('b').get())},
                                          {{0x50000, 0x54000}, store.add(withHoles('c').get())}};
    const auto source = withProvided(ofImages(), files, store);

    using State = PageJob::State;
    std::vector<std::pair<Range, std::size_t>> present;
    source->forEach(0x10000, 0x60000, [&](const PageJob& job) {
        if (job.state == State::Present)
            present.push_back({{job.address, job.end()}, job.layer});
    });
    CHECK(present == std::vector<std::pair<Range, std::size_t>>{{{0x10000, 0x14000}, 1},
                                                                {{0x15000, 0x16000}, 0},
                                                                {{0x17000, 0x18000}, 0},
                                                                {{0x19000, 0x1a000}, 0},
                                                                {{0x1b000, 0x1c000}, 0},
                                                                {{0x1c000, 0x20000}, 1},
                                                                {{0x30000, 0x32000}, 1},
                                                                {{0x51000, 0x52000}, 0},
                                                                {{0x53000, 0x54000}, 0}});
    PageReader reader(*source);
    std::vector<std::byte> page(kImagePageSize);
    for (const auto& [address, content] : {std::pair{0x15000, 'a'}, {0x1b000, 'b'}, {0x53000, 'c'}, {0x17000, 'a'}}) {
        reader.read(source->jobs(address, address + kImagePageSize).front(), page);
        CHECK(page == std::vector<std::byte>(kImagePageSize, static_cast<std::byte>(content)));
    }
}

TEST_CASE("a provided file that becomes shorter is an error") {
    kernel::FdStore store;
    store.openQueue();
    const UniqueFd file = withHoles('a');
    const auto source = withProvided(ofImages(), {{{0x14000, 0x18000}, store.add(file.get())}}, store);
    REQUIRE(::ftruncate(file.get(), 2 * kImagePageSize) == 0);
    PageReader reader(*source);
    std::vector<std::byte> page(kImagePageSize);
    CHECK_NOTHROW(reader.read(source->jobs(0x15000, 0x16000).front(), page));
    CHECK_THROWS_WITH(reader.read(source->jobs(0x17000, 0x18000).front(), page),
                      Catch::Contains("the provider's memory of 0x17000"));
}

}  // namespace criu::memory
