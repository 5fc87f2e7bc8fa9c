// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/catalogue.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "images/core.hpp"

using criu::Framing;
using criu::imageInfo;
using criu::ImageKind;
using criu::imageName;

TEST_CASE("image files have the names that other versions of criu know") {
    CHECK(imageName(ImageKind::Inventory) == "inventory.img");
    CHECK(imageName(ImageKind::StatsDump) == "stats-dump");
    CHECK(imageName(ImageKind::StatsRestore) == "stats-restore");
    CHECK(imageName(ImageKind::IrmapCache) == "irmap-cache");
    CHECK(imageName(ImageKind::Core, 4194304) == "core-4194304.img");
    CHECK(imageName(ImageKind::Pagemap, 12) == "pagemap-12.img");
    CHECK(imageName(ImageKind::ShmemPagemap, 0x123456789ab) == "pagemap-shmem-1250999896491.img");
    CHECK(imageName(ImageKind::Pages, 65537) == "pages-65537.img");
    CHECK(imageName(ImageKind::GhostFile, 31) == "ghost-file-1f.img");
    CHECK(imageName(ImageKind::TcpStream, 0xbeef) == "tcp-stream-beef.img");
    CHECK(imageName(ImageKind::TmpfsDev, 45) == "tmpfs-dev-45.tar.gz.img");
    CHECK(imageName(ImageKind::Conntrack, 9) == "netns-ct-9.img");
    CHECK(imageName(ImageKind::Timens) == "timens-0.img");
    CHECK(imageName(ImageKind::IpcSem, 3) == "ipcns-sem-3.img");
    CHECK(imageName(ImageKind::PendingSignal, 3) == "signal-p-3.img");
}

TEST_CASE("each kind has its own row, file name and framing") {
    std::set<std::string> names;
    for (const criu::ImageInfo& info : criu::imageCatalogue()) {
        INFO(info.name);
        CHECK(&imageInfo(info.kind) == &info);
        CHECK(names.insert(imageName(info.kind, 1)).second);
        CHECK((imageName(info.kind, 1) != imageName(info.kind, 2)) == info.numbered());
        CHECK((info.framing == Framing::Raw) == (info.magic == 0));
        CHECK((info.framing == Framing::Raw) == info.tag.empty());
        CHECK((info.framing == Framing::Raw) == (info.record == nullptr));
        CHECK((info.framing == Framing::TypeMagic) == (info.kind == ImageKind::Inventory));
    }
}

TEST_CASE("magics and messages are those of the image format") {
    CHECK(imageInfo(ImageKind::Core).magic == 0x55053847);
    CHECK(imageInfo(ImageKind::Core).tag == "CORE");
    CHECK(imageInfo(ImageKind::Core).record == &core_entry__descriptor);
    CHECK(imageInfo(ImageKind::Files).magic == 0x56303138);
    CHECK(imageInfo(ImageKind::StatsDump).framing == Framing::Service);
    CHECK(imageInfo(ImageKind::IrmapCache).framing == Framing::Service);
    CHECK(imageInfo(ImageKind::Pages).framing == Framing::Raw);
    CHECK(imageInfo(ImageKind::Pagemap).magic == imageInfo(ImageKind::ShmemPagemap).magic);
}
