// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/namespaces/mount/file_archive.hpp"
#include "image_fixture.hpp"

using criu::UniqueFd;
using criu::namespaces::FileArchives;

namespace {

/// Packs the files of a directory, and returns the archive at its start.
UniqueFd packed(const std::string& path) {
    const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    UniqueFd archive(::memfd_create("archive", MFD_CLOEXEC));
    criu::StopRequest stop;
    (void)FileArchives().pack(directory.get(), archive.get(), criu::model::IdMap(), nullptr, stop);
    REQUIRE(::lseek(archive.get(), 0, SEEK_SET) == 0);
    return archive;
}

std::vector<std::uint64_t> sizesIn(const UniqueFd& archive) {
    std::vector<std::uint64_t> sizes;
    FileArchives().forEachFile(archive.get(), [&](std::uint64_t bytes) { sizes.push_back(bytes); });
    return sizes;
}

}  // namespace

TEST_CASE("the size of a file in an archive counts only its data") {
    const criu::test::TemporaryDir place;
    std::ofstream(place.path() + "/file") << "content";
    std::ofstream(place.path() + "/holes") << "content";
    std::filesystem::resize_file(place.path() + "/holes", std::uintmax_t{1} << 40);
    std::filesystem::create_hard_link(place.path() + "/file", place.path() + "/link");
    const std::vector<std::uint64_t> sizes = sizesIn(packed(place.path()));
    REQUIRE(sizes.size() == 4);
    CHECK(sizes[0] == 0);  // the directory
    CHECK(sizes[1] == 7);
    CHECK(sizes[2] >= 7);
    CHECK(sizes[2] <= 65536);
    CHECK(sizes[3] == 0);
}

TEST_CASE("the reader of an archive stops at an exception") {
    const criu::test::TemporaryDir place;
    std::ofstream(place.path() + "/one") << "content";
    std::ofstream(place.path() + "/two") << "content";
    const UniqueFd archive = packed(place.path());
    unsigned calls = 0;
    CHECK_THROWS_AS(FileArchives().forEachFile(archive.get(),
                                               [&](std::uint64_t) {
                                                   ++calls;
                                                   criu::fail("enough");
                                               }),
                    criu::Error);
    CHECK(calls == 1);
}
