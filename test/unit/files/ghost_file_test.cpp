// SPDX-License-Identifier: GPL-2.0-only
#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <fstream>

#include "criu/files/ghost_file.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/id_map.hpp"
#include "image_fixture.hpp"
#include "images/ghost-file.hpp"

using Catch::Contains;
using criu::files::GhostFile;
using criu::test::errorOf;

namespace {

constexpr std::uint32_t kId = 3;

void writeGhost(const criu::ImageDir& images, mode_t mode) {
    GhostFileEntry entry = GHOST_FILE_ENTRY__INIT;
    entry.uid = ::getuid();
    entry.gid = ::getgid();
    entry.mode = mode;
    auto image = images.create(criu::ImageKind::GhostFile, kId);
    image.write(entry);
    image.finish();
}

}  // namespace

TEST_CASE("a ghost file leaves no name, and removes no file of another program") {
    const criu::test::TemporaryDir directory;
    const criu::test::TemporaryDir place;
    const auto images = directory.images();
    const auto make = [&](const std::string& path) {
        return errorOf([&] {
            (void)GhostFile(kId, place.path() + path, images, criu::model::IdMap()).openAs(place.path() + path);
        });
    };
    writeGhost(images, S_IFREG | 0600);
    CHECK(make("/one/two/file").empty());
    CHECK(std::filesystem::is_empty(place.path()));
    CHECK_THAT(make("/one/" + std::string(300, 'x') + "/file"), Contains("create directory"));
    CHECK(std::filesystem::is_empty(place.path()));

    const std::string theirs = fmt::format("{}/file.cr.{:x}.{}.ghost", place.path(), kId, ::getpid());
    std::ofstream(theirs) << "theirs";
    CHECK_THAT(make("/file"), Contains("File exists"));
    CHECK(criu::test::contentOf(theirs) == "theirs");
    std::filesystem::remove(theirs);

    writeGhost(images, 0600);
    CHECK_THAT(make("/one/file"), Contains("no known file type"));
    writeGhost(images, S_IFDIR | 0700);
    CHECK(make("/one/folder").empty());
    CHECK(std::filesystem::is_empty(place.path()));
}
