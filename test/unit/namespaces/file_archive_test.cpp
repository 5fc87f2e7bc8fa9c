// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/kernel/confined_process.hpp"
#include "criu/namespaces/mount/file_archive.hpp"
#include "criu/namespaces/mount/file_list.hpp"
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
    FileArchives().forEachFile(archive.get(), FileArchives::Form::Archive,
                               [&](std::uint64_t bytes) { sizes.push_back(bytes); });
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
    CHECK_THROWS_AS(FileArchives().forEachFile(archive.get(), FileArchives::Form::Archive,
                                               [&](std::uint64_t) {
                                                   ++calls;
                                                   criu::fail("enough");
                                               }),
                    criu::Error);
    CHECK(calls == 1);
}

namespace {

/// Makes files of all kinds below a directory. `asRoot`: also a device node, and files of other owners.
void makeFiles(const std::string& path, bool asRoot) {
    std::ofstream(path + "/file") << "content";
    std::ofstream(path + "/holes") << "content";
    std::filesystem::resize_file(path + "/holes", std::uintmax_t{1} << 30);
    std::ofstream(path + "/large") << std::string(std::size_t{5} << 20, 'x');
    std::filesystem::create_hard_link(path + "/file", path + "/link");
    std::filesystem::create_symlink("nowhere", path + "/symlink");
    std::filesystem::create_directory(path + "/a name with \xc3\xa4 and \xff");
    std::ofstream(path + "/a name with \xc3\xa4 and \xff/below") << "x";
    REQUIRE(::mkfifo((path + "/fifo").c_str(), 0640) == 0);
    REQUIRE(::chmod((path + "/large").c_str(), 04711) == 0);
    (void)::setxattr((path + "/file").c_str(), "trusted.name", "value", 5, 0);
    if (asRoot) {
        REQUIRE(::mknod((path + "/device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0);
        REQUIRE(::lchown((path + "/holes").c_str(), 12, 34) == 0);
    }
}

/// Writes the list of an archive by a confined process, like a restore.
UniqueFd listOf(const UniqueFd& archive) {
    UniqueFd list(::memfd_create("list", MFD_CLOEXEC));
    const FileArchives archives;
    criu::StopRequest stop;
    criu::kernel::runConfined("unpack it", std::array{archive.get(), list.get()}, stop,
                              [&] { archives.writeList(archive.get(), list.get()); });
    REQUIRE(::lseek(archive.get(), 0, SEEK_SET) == 0);
    return list;
}

/// Returns one line for each file of an archive.
std::vector<std::string> describe(const UniqueFd& archive) {
    std::vector<std::string> lines;
    for (const auto& file : FileArchives().list(archive.get())) {
        std::string line =
            fmt::format("{} {:o} {}:{} {} {} {}.{} {} {}", file.path, file.mode, file.user, file.group, file.size,
                        file.device, file.modified.tv_sec, file.modified.tv_nsec, file.target, file.content);
        for (const auto& [name, value] : file.attributes)
            line += fmt::format(" {}={}", name, value);
        lines.push_back(line);
    }
    return lines;
}

/// Writes a file of a list whose path has this text.
UniqueFd listOfFile(const criu::namespaces::ListedFile& file) {
    UniqueFd list(::memfd_create("list", MFD_CLOEXEC));
    criu::namespaces::FileListWriter writer(list.get());
    writer.begin(file);
    writer.end();
    return list;
}

std::string errorOfUnpacking(const UniqueFd& list, const std::string& path) {
    const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return criu::test::errorOf([&] { FileArchives().unpack(list.get(), FileArchives::Form::List, directory.get()); });
}

}  // namespace

TEST_CASE("a list that a confined process wrote creates the files of the archive", "[confined]") {
    const criu::test::TemporaryDir from;
    makeFiles(from.path(), ::geteuid() == 0);
    const UniqueFd archive = packed(from.path());
    const UniqueFd list = listOf(archive);
    const criu::test::TemporaryDir to;
    CHECK(errorOfUnpacking(list, to.path()).empty());
    CHECK(describe(packed(to.path())) == describe(archive));
    REQUIRE(::lseek(archive.get(), 0, SEEK_SET) == 0);
    std::vector<std::uint64_t> sizes;
    FileArchives().forEachFile(list.get(), FileArchives::Form::List,
                               [&](std::uint64_t bytes) { sizes.push_back(bytes); });
    CHECK(sizes == sizesIn(archive));
}

TEST_CASE("a damaged archive fails in the confined process", "[confined]") {
    const criu::test::TemporaryDir from;
    std::ofstream(from.path() + "/file") << "content";
    const UniqueFd archive = packed(from.path());
    REQUIRE(::ftruncate(archive.get(), 60) == 0);
    CHECK_THAT(criu::test::errorOf([&] { (void)listOf(archive); }), Catch::Contains("unpack it: read an archive"));
}

TEST_CASE("a list of an exploited process can't lead out of the directory") {
    const criu::test::TemporaryDir place;
    std::filesystem::create_directory(place.path() + "/below");
    const std::string below = place.path() + "/below";
    criu::namespaces::ListedFile file;
    file.numbers.mode = S_IFREG | 0600;
    for (const std::string& path :
         {std::string("../escaped"), place.path() + "/escaped", std::string("a/../../escaped")}) {
        file.path = path;
        CHECK_FALSE(errorOfUnpacking(listOfFile(file), below).empty());
    }
    // A link, and then a file through the link.
    UniqueFd list(::memfd_create("list", MFD_CLOEXEC));
    criu::namespaces::FileListWriter writer(list.get());
    criu::namespaces::ListedFile link;
    link.path = "out";
    link.target = "..";
    link.numbers.mode = S_IFLNK | 0777;
    link.numbers.given = criu::namespaces::ListedFile::kSymlink;
    writer.begin(link);
    writer.end();
    file.path = "out/escaped";
    writer.begin(file);
    writer.end();
    CHECK_FALSE(errorOfUnpacking(list, below).empty());
    CHECK_FALSE(std::filesystem::exists(place.path() + "/escaped"));
    // Hard links to a file outside, which would get the properties in the list.
    std::ofstream(place.path() + "/outside") << "content";
    std::filesystem::permissions(place.path() + "/outside", std::filesystem::perms::owner_read);
    file.path = "hard";
    file.numbers.mode = S_IFREG | 0777;
    file.numbers.given = criu::namespaces::ListedFile::kHardlink;
    for (const std::string& target :
         {std::string("../outside"), place.path() + "/outside", std::string("out/outside")}) {
        file.target = target;
        CHECK_FALSE(errorOfUnpacking(listOfFile(file), below).empty());
    }
    CHECK(std::filesystem::hard_link_count(place.path() + "/outside") == 1);
    CHECK(std::filesystem::status(place.path() + "/outside").permissions() == std::filesystem::perms::owner_read);
}

TEST_CASE("lists with wrong sizes are refused") {
    const criu::test::TemporaryDir place;
    criu::namespaces::ListedFile file;
    file.path = "name";
    file.numbers.mode = S_IFREG | 0600;
    file.attributes.emplace_back("user.name", "value");
    file.acl.push_back({1, 2, 3, 4, "name"});
    const UniqueFd whole = listOfFile(file);
    const off_t size = ::lseek(whole.get(), 0, SEEK_END);
    std::vector<char> bytes(static_cast<std::size_t>(size));
    REQUIRE(::pread(whole.get(), bytes.data(), bytes.size(), 0) == size);
    const auto errorOfReading = [](const UniqueFd& list) {
        return criu::test::errorOf([&] {
            criu::namespaces::FileListReader reader(list.get());
            while (reader.next())
                while (reader.block())
                    continue;
        });
    };
    CHECK(errorOfReading(whole).empty());
    for (std::size_t length = 1; length < bytes.size(); ++length) {
        const UniqueFd cut(::memfd_create("list", MFD_CLOEXEC));
        REQUIRE(::write(cut.get(), bytes.data(), length) == static_cast<ssize_t>(length));
        INFO(length);
        CHECK_THAT(errorOfReading(cut), Catch::Contains("ends too early"));
    }
    // Each byte in turn has its highest value. The reader must throw Error or end, without a crash.
    unsigned refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::vector<char> changed = bytes;
        changed[at] = '\xff';
        const UniqueFd list(::memfd_create("list", MFD_CLOEXEC));
        REQUIRE(::write(list.get(), changed.data(), changed.size()) == size);
        refused += errorOfReading(list).empty() ? 0 : 1;
    }
    CHECK(refused >= 7 * sizeof(std::uint32_t));
    file.path = std::string("na\0me", 5);
    CHECK_THAT(errorOfReading(listOfFile(file)), Catch::Contains("zero byte"));
    file.path = std::string(70'000, 'x');
    CHECK_THAT(criu::test::errorOf([&] { (void)listOfFile(file); }), Catch::Contains("exceeds the limit"));
}
