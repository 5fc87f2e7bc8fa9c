// SPDX-License-Identifier: GPL-2.0-only
// Contents of shared memory: read completely, and freed in the images if requested.
#include <sys/stat.h>
#include <catch2/catch.hpp>

#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "image_fixture.hpp"

using namespace criu;
using namespace criu::memory;

TEST_CASE("content of shared memory is freed as it is read, if it may be") {
    constexpr std::uint64_t kNumber = 9;
    const test::TemporaryDir place;
    const ImageDir images = place.images();
    const std::vector<std::byte> content(64 * kImagePageSize, std::byte{7});
    const MemoryObject object = MemoryObject::shared(kNumber);
    FilePageSinks sinks(images, {});
    const auto sink = sinks.open(object, content.size());
    const PageRun run{0, content.size(), PageFlags::Present};
    sink->add({&run, 1});
    const kernel::RemoteRange range{0, content.size()};
    sink->write({0, {&range, 1}, content});
    sink->finish();
    const auto stored = [&images] {
        struct stat status {};
        REQUIRE(::fstat(images.openRaw(ImageKind::Pages, 1, O_RDONLY)->get(), &status) == 0);
        return status.st_blocks;
    };
    REQUIRE(stored() != 0);

    const PageSource source = FilePageSources(images).openRequired(object);
    for (const bool frees : {false, true}) {
        std::vector<std::byte> memory(content.size());
        CHECK(fillSharedContent(&source, kNumber, memory, {}, {}, frees) == content.size());
        CHECK(memory == content);
        CHECK((stored() == 0) == frees);
    }
}
