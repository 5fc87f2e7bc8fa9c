// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/image_dir.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "criu/image/old_images.hpp"
#include "criu/kernel/file_rights.hpp"
#include "image_fixture.hpp"
#include "images/fs.hpp"

using Catch::Contains;
using criu::ImageDir;
using criu::ImageKind;
using criu::UniqueFd;
using criu::test::errorOf;
using criu::test::TemporaryDir;

TEST_CASE("a directory that can't be one is refused") {
    const TemporaryDir tmp;
    CHECK_THAT(errorOf([&] { (void)ImageDir::open(tmp.path() + "/none"); }),
               Contains("/none: No such file or directory"));
    CHECK_THAT(errorOf([] { ImageDir(UniqueFd(::open("/dev/null", O_RDONLY)), "fd 9"); }),
               Contains("fd 9: Not a directory"));
    CHECK_THAT(errorOf([] { ImageDir(UniqueFd(), "fd -1"); }), Contains("Bad file descriptor"));
}

TEST_CASE("a directory is held by descriptor: a new name doesn't matter") {
    const TemporaryDir tmp;
    std::filesystem::create_directory(tmp.path() + "/a");
    const auto dir = ImageDir::open(tmp.path() + "/a");
    std::filesystem::rename(tmp.path() + "/a", tmp.path() + "/b");
    dir.create(ImageKind::Fs, 1).finish();
    CHECK(std::filesystem::exists(tmp.path() + "/b/fs-1.img"));
    const ImageDir adopted(UniqueFd(::dup(dir.fd())), "from a client");
    CHECK(adopted.exists(ImageKind::Fs, 1));
}

TEST_CASE("files are found, missed and removed") {
    const TemporaryDir tmp;
    const auto dir = tmp.images();
    CHECK_FALSE(dir.exists(ImageKind::Fs, 1));
    CHECK_FALSE(dir.openRead(ImageKind::Fs, 1));
    CHECK_FALSE(dir.openRaw(ImageKind::Pages, 1, O_RDONLY));
    CHECK_FALSE(dir.unlink(ImageKind::Fs, 1));
    CHECK_THAT(errorOf([&] { (void)dir.openRequired(ImageKind::Fs, 1); }),
               Contains("fs-1.img") && Contains(tmp.path()) && Contains("No such file"));
    dir.create(ImageKind::Fs, 1).finish();
    CHECK(dir.exists(ImageKind::Fs, 1));
    CHECK(dir.openRead(ImageKind::Fs, 1));
    CHECK(dir.unlink(ImageKind::Fs, 1));
    CHECK_FALSE(dir.exists(ImageKind::Fs, 1));
}

TEST_CASE("what stands in the way of a file is an error, not a missing file") {
    const TemporaryDir tmp;
    std::filesystem::create_symlink("fs-1.img", tmp.path() + "/fs-1.img");
    const auto dir = tmp.images();
    CHECK_THAT(errorOf([&] { (void)dir.openRead(ImageKind::Fs, 1); }), Contains("Too many levels"));
    CHECK_THAT(errorOf([&] { (void)dir.exists(ImageKind::Fs, 1); }), Contains("Too many levels"));
    std::filesystem::create_directory(tmp.path() + "/fs-2.img");
    CHECK_THAT(errorOf([&] { (void)dir.create(ImageKind::Fs, 2); }), Contains("create fs-2.img"));
}

TEST_CASE("an image takes the place of a link, and never the content of what the link leads to") {
    const TemporaryDir tmp;
    const auto dir = tmp.images();
    std::ofstream(tmp.path() + "/other") << "precious";
    std::filesystem::create_symlink("other", tmp.path() + "/fs-1.img");
    std::filesystem::create_hard_link(tmp.path() + "/other", tmp.path() + "/fs-2.img");
    dir.create(ImageKind::Fs, 1).finish();
    dir.create(ImageKind::Fs, 2).finish();
    CHECK(std::filesystem::file_size(tmp.path() + "/other") == 8);
    CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(tmp.path() + "/fs-1.img")));
}

TEST_CASE("images are private to their owner, with any umask and any earlier file of the name") {
    const TemporaryDir tmp;
    const auto dir = tmp.images();
    const auto modeOf = [&](const char* name) {
        struct stat status {};
        REQUIRE(::lstat((tmp.path() + name).c_str(), &status) == 0);
        return status.st_mode;
    };
    std::ofstream(tmp.path() + "/fs-1.img") << "of an earlier dump";
    std::filesystem::permissions(tmp.path() + "/fs-1.img", std::filesystem::perms(0666));
    const UniqueFd reader(::open((tmp.path() + "/fs-1.img").c_str(), O_RDWR | O_CLOEXEC));
    for (const mode_t mask : {0, 022, 0777}) {
        const mode_t before = ::umask(mask);
        dir.create(ImageKind::Fs, 1).finish();
        (void)dir.createRaw(ImageKind::Pages, mask);
        ::umask(before);
        CHECK(modeOf("/fs-1.img") == (S_IFREG | 0600));
        CHECK(modeOf(("/pages-" + std::to_string(mask) + ".img").c_str()) == (S_IFREG | 0600));
    }
    struct stat old {};
    REQUIRE(::fstat(reader.get(), &old) == 0);
    CHECK(old.st_size == 18);  // the open old file has none of the new content
}

TEST_CASE("all images of an earlier dump can be removed, and nothing else") {
    const TemporaryDir tmp;
    const auto dir = tmp.images();
    std::ofstream(tmp.path() + "/precious") << "x";
    for (const char* const name : {"/core-12.img", "/pages-7.img", "/ghost-file-1f.img", "/creds-3.img", "/core-x.img",
                                   "/core-.img", "/corn-1.img", "/cpuinfo.img", "/dump.log", "/core-1.img.old"})
        std::ofstream(tmp.path() + name) << "x";
    std::filesystem::create_symlink("precious", tmp.path() + "/mm-1.img");
    criu::removeOldImages(dir);
    std::set<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(tmp.path()))
        left.insert(entry.path().filename());
    CHECK(left == std::set<std::string>{"precious", "core-x.img", "core-.img", "corn-1.img", "cpuinfo.img", "dump.log",
                                        "core-1.img.old"});
}

TEST_CASE("creating truncates, and raw files can be read back") {
    const TemporaryDir tmp;
    const auto dir = tmp.images();
    for (int round = 0; round < 2; ++round) {
        const UniqueFd pages = dir.createRaw(ImageKind::Pages, 3);
        char byte = 0;
        CHECK(::pread(pages.get(), &byte, 1, 0) == 0);
        REQUIRE(::pwrite(pages.get(), "x", 1, 0) == 1);
        CHECK(::pread(pages.get(), &byte, 1, 0) == 1);
    }
    const auto opened = dir.openRaw(ImageKind::Pages, 3, O_RDONLY);
    REQUIRE(opened);
    CHECK(::write(opened->get(), "x", 1) == -1);
}

TEST_CASE("old images are read by the version set") {
    const TemporaryDir tmp;
    auto dir = tmp.images();
    FsEntry fs = FS_ENTRY__INIT;
    fs.cwd_id = 4;
    criu::test::Bytes old;
    old.word(criu::imageInfo(ImageKind::Fs).magic).record(fs);
    const UniqueFd file(::open((tmp.path() + "/fs-1.img").c_str(), O_WRONLY | O_CREAT, 0600));
    REQUIRE(::write(file.get(), old.content().data(), old.content().size()) > 0);
    CHECK_FALSE(errorOf([&] { (void)dir.openRead(ImageKind::Fs, 1); }).empty());
    dir.setVersion(criu::ImageVersion::V1);
    CHECK(dir.openRequired(ImageKind::Fs, 1).only<FsEntry>()->cwd_id == 4);
}

TEST_CASE("only regular files are images, in any user's directory") {
    const TemporaryDir tmp;
    std::filesystem::create_symlink("/dev/zero", tmp.path() + "/pages-1.img");
    REQUIRE(::mkfifo((tmp.path() + "/pages-2.img").c_str(), 0600) == 0);
    const auto dir = ImageDir::open(tmp.path());
    CHECK_THAT(errorOf([&] { (void)dir.openRaw(ImageKind::Pages, 1, O_RDONLY); }), Contains("isn't a regular file"));
    CHECK_THAT(errorOf([&] { (void)dir.openRaw(ImageKind::Pages, 2, O_RDWR); }), Contains("isn't a regular file"));
}

TEST_CASE("a client's directory is used with the client's rights") {
    if (::geteuid() != 0) {
        WARN("skipped: only root can become others");
        return;
    }
    constexpr uid_t kUser = 1000;
    constexpr gid_t kGroup = 100;
    const TemporaryDir tmp;
    const std::string& path = tmp.path();
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    const std::string secret = path + "/secret";
    const std::string own = path + "/images";
    std::filesystem::create_directory(own);
    REQUIRE(::chown(own.c_str(), kUser, kGroup) == 0);
    {
        std::ofstream(secret) << "secret";
        REQUIRE(::chmod(secret.c_str(), 0600) == 0);
        std::filesystem::create_symlink(secret, own + "/pages-1.img");
        std::filesystem::create_hard_link(secret, own + "/pages-2.img");
        REQUIRE(::mkfifo((own + "/pages-3.img").c_str(), 0666) == 0);
        std::ofstream(own + "/mine") << "x";
        std::filesystem::create_symlink("mine", own + "/pages-4.img");
    }
    auto dir = ImageDir::open(own);
    CHECK(dir.openRaw(ImageKind::Pages, 1, O_RDONLY));
    dir.limitTo({kUser, kGroup, {}, {kUser}, false, false});
    CHECK_THAT(errorOf([&] { (void)dir.openRaw(ImageKind::Pages, 1, O_RDONLY); }), Contains("pages-1.img"));
    CHECK_THAT(errorOf([&] { (void)dir.exists(ImageKind::Pages, 1); }), Contains("pages-1.img"));
    CHECK_THAT(errorOf([&] { (void)dir.openRaw(ImageKind::Pages, 2, O_RDONLY); }), Contains("Permission denied"));
    CHECK_THAT(errorOf([&] { (void)dir.openRaw(ImageKind::Pages, 3, O_RDONLY); }), Contains("isn't a regular file"));
    CHECK_THAT(errorOf([&] { (void)dir.openRaw(ImageKind::Pages, 4, O_RDONLY); }), Contains("pages-4.img"));
    CHECK_FALSE(dir.exists(ImageKind::Pages, 9));
    dir.create(ImageKind::Fs, 1).finish();
    CHECK(dir.openRead(ImageKind::Fs, 1));
    struct stat status {};
    REQUIRE(::stat((own + "/fs-1.img").c_str(), &status) == 0);
    CHECK((status.st_uid == kUser && status.st_gid == kGroup && (status.st_mode & 07777) == 0600));

    // A directory that other users can only read.
    auto others = ImageDir::open(path);
    others.limitTo({kUser, kGroup, {}, {kUser}, false, false});
    CHECK_THAT(errorOf([&] { (void)others.create(ImageKind::Fs, 1); }), Contains("Permission denied"));
    CHECK_THAT(errorOf([&] { others.linkParent("/"); }), Contains("Permission denied"));
    std::ofstream(path + "/fs-2.img") << "x";
    CHECK_THAT(errorOf([&] { (void)others.unlink(ImageKind::Fs, 2); }), Contains("Permission denied"));
    CHECK_THAT(errorOf([&] { criu::removeOldImages(others); }), Contains("Permission denied"));
    CHECK(std::filesystem::exists(path + "/fs-2.img"));

    // The target of a link to a parent must be accessible to the client, too.
    const std::string closed = path + "/closed";
    std::filesystem::create_directory(closed);
    REQUIRE(::chmod(closed.c_str(), 0700) == 0);
    std::filesystem::create_symlink(closed, own + "/parent");
    CHECK(ImageDir::open(own).openParent());
    CHECK_THAT(errorOf([&] { dir.openParents(); }), Contains("Permission denied"));
    std::filesystem::remove(own + "/parent");
    std::filesystem::create_symlink("..", own + "/parent");
    dir.openParents();
    REQUIRE(dir.parent() != nullptr);
    std::filesystem::create_symlink(secret, path + "/pages-1.img");
    CHECK_THAT(errorOf([&] { (void)dir.parent()->openRaw(ImageKind::Pages, 1, O_RDONLY); }), Contains("pages-1.img"));
}

TEST_CASE("the parent link leads to the dump before") {
    const TemporaryDir tmp;
    std::filesystem::create_directory(tmp.path() + "/1");
    std::filesystem::create_directory(tmp.path() + "/2");
    const auto first = ImageDir::open(tmp.path() + "/1");
    auto second = ImageDir::open(tmp.path() + "/2");
    second.setVersion(criu::ImageVersion::V1);
    first.create(ImageKind::Fs, 8).finish();
    CHECK_FALSE(second.openParent());
    second.linkParent("../nowhere");
    CHECK_THAT(errorOf([&] { (void)second.openParent(); }), Contains("parent of") && Contains("No such file"));
    second.linkParent("../1");
    const auto parent = second.openParent();
    REQUIRE(parent);
    CHECK(parent->exists(ImageKind::Fs, 8));
    CHECK(parent->name() == tmp.path() + "/2/parent");
    CHECK(std::filesystem::read_symlink(tmp.path() + "/2/parent") == "../1");
}
