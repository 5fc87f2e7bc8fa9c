// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/image/image_outlet.hpp"
#include "criu/image/stream_format.hpp"
#include "criu/image/stream_reader.hpp"
#include "criu/image/stream_writer.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "image_fixture.hpp"

using Catch::Contains;
using namespace criu;
using namespace std::chrono_literals;
using criu::test::errorOf;
using criu::test::TemporaryDir;

namespace {

std::span<const std::byte> rawBytesOf(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string streamContentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Streams in a file.
struct Streams {
    TemporaryDir folder;
    TemporaryDir target;
    StopRequest stop;
    const std::string path = folder.path() + "/stream";

    [[nodiscard]] ByteStream open(int flags) {
        return {UniqueFd(sys(::open(path.c_str(), flags | O_CLOEXEC, 0600), "open {}", path)), stop, 1s, "the stream"};
    }
    [[nodiscard]] StreamWriter writer() { return StreamWriter(open(O_WRONLY | O_CREAT | O_TRUNC)); }
    StreamAmounts receive() {
        ByteStream in = open(O_RDONLY);
        return receiveStream(in, target.images());
    }
    /// Writes two files whose parts alternate, from their ends.
    void writeTwo() {
        StreamWriter out = writer();
        const auto one = out.create("one.img");
        const auto two = out.create("two.img");
        one->write(5, rawBytesOf("first"));
        two->write(0, rawBytesOf("second"));
        one->write(0, rawBytesOf("begin"));
        two->finish(6);
        one->finish(12);
        out.finish();
    }
    void put(const std::string& bytes) {
        std::ofstream file(path, std::ios::binary | std::ios::trunc);
        file << bytes;
    }
    [[nodiscard]] std::string failure() {
        return errorOf([&] { receive(); });
    }
    [[nodiscard]] bool targetIsEmpty() const { return std::filesystem::is_empty(target.path()); }
};

}  // namespace

TEST_CASE("A stream has files whose parts come in turn, with holes", "[stream]") {
    Streams streams;
    streams.writeTwo();
    const StreamAmounts amounts = streams.receive();
    CHECK(amounts.files == 2);
    CHECK(amounts.bytes == std::filesystem::file_size(streams.path));
    CHECK(streamContentOf(streams.target.path() + "/one.img") == std::string("beginfirst\0\0", 12));
    CHECK(streamContentOf(streams.target.path() + "/two.img") == "second");
}

TEST_CASE("A stream that is cut anywhere is refused with the offset, and leaves no file", "[stream]") {
    Streams streams;
    streams.writeTwo();
    const std::string whole = streamContentOf(streams.path);
    for (std::size_t end = 1; end < whole.size(); ++end) {
        streams.put(whole.substr(0, end));
        const std::string expected = end < 8 ? "isn't a stream" : fmt::format("ends too early, at offset {}", end);
        REQUIRE_THAT(streams.failure(), Contains(expected));
        REQUIRE(streams.targetIsEmpty());
    }
    streams.put("");
    CHECK_THAT(streams.failure(), Contains("before anything has come"));
}

TEST_CASE("A stream in which any bit is wrong is refused, and leaves no file", "[stream]") {
    Streams streams;
    streams.writeTwo();
    const std::string whole = streamContentOf(streams.path);
    for (std::size_t place = 0; place < whole.size(); ++place) {
        std::string damaged = whole;
        damaged[place] = static_cast<char>(damaged[place] ^ 1 << place % 8);
        streams.put(damaged);
        REQUIRE_THAT(streams.failure(), Contains(place < 8 ? "isn't a stream" : "is damaged at offset"));
        REQUIRE(streams.targetIsEmpty());
    }
}

TEST_CASE("A stream takes the place of images only, and not of other files that are called like some", "[stream]") {
    Streams streams;
    const auto write = [&streams](const std::string& name) {
        StreamWriter out = streams.writer();
        const auto file = out.create(name);
        file->write(0, rawBytesOf("new"));
        file->finish(3);
        out.finish();
    };
    for (const char* const name : {"disk.img", "pages-1.img"})
        std::ofstream(streams.target.path() + "/" + name) << "old";
    write("pages-1.img");
    streams.receive();
    CHECK(streamContentOf(streams.target.path() + "/pages-1.img") == "new");
    write("disk.img");
    CHECK_THAT(streams.failure(), Contains("a file disk.img, and there is one already"));
    CHECK(streamContentOf(streams.target.path() + "/disk.img") == "old");
}

TEST_CASE("Records of another stream, or in another order, are noticed", "[stream]") {
    Streams streams;
    streams.writeTwo();
    const std::string first = streamContentOf(streams.path);
    streams.writeTwo();
    const std::string second = streamContentOf(streams.path);
    streams.put(first.substr(0, 32) + second.substr(32));
    CHECK_THAT(streams.failure(), Contains("is damaged at offset 32"));
    const std::size_t open = sizeof(stream::RecordHead) + 7;
    streams.put(first.substr(0, 32) + first.substr(32 + open, open) + first.substr(32, open));
    CHECK_THAT(streams.failure(), Contains("record 1 comes where 0 should"));
}

TEST_CASE("Names, incomplete files and compressed streams are refused", "[stream]") {
    Streams streams;
    for (const char* const name : {"", ".img", "../x.img", "a/b.img", "x.log", "x y.img"})
        CHECK_THAT(errorOf([&] { (void)streams.writer().create(name); }), Contains("can't have the name"));
    StreamWriter out = streams.writer();
    const auto file = out.create("x.img");
    CHECK_THAT(errorOf([&] { out.finish(); }), Contains("incomplete"));
    streams.put("\x28\xb5\x2f\xfd and more that zstd has made of something");
    CHECK_THAT(streams.failure(), Contains("zstd -d"));
}

namespace {

/// Outlet that records what it gets.
class RecordingOutlet : public ImageOutlet {
public:
    std::unique_ptr<File> create(const std::string& name) override {
        names.push_back(name);
        return std::make_unique<Counted>(bytes);
    }
    [[nodiscard]] bool inOrder() const noexcept override { return false; }
    void finish() override {}

    std::vector<std::string> names;
    std::uint64_t bytes = 0;

private:
    class Counted : public File {
    public:
        explicit Counted(std::uint64_t& bytes) : bytes_(bytes) {}
        void write(std::uint64_t, std::span<const std::byte> bytes) override { bytes_ += bytes.size(); }
        void finish(std::uint64_t) override {}

    private:
        std::uint64_t& bytes_;
    };
};

}  // namespace

TEST_CASE("The inventory is sent behind all other images, and without holes", "[stream]") {
    const TemporaryDir folder;
    for (const char* const name : {"zz.img", "inventory.img", "aa.img", "note.txt"})
        std::ofstream(folder.path() + '/' + name) << "content";
    std::filesystem::resize_file(folder.path() + "/zz.img", std::uintmax_t{64} << 20);
    RecordingOutlet images;
    sendImages(folder.images(), images, Sent::Images);
    CHECK(images.names == std::vector<std::string>{"aa.img", "zz.img", "inventory.img"});
    CHECK(images.bytes < std::uint64_t{1} << 20);
}

TEST_CASE("Pages go to a stream by blocks, those of zeroes not at all", "[stream]") {
    Streams streams;
    {
        StreamWriter out = streams.writer();
        TemporaryDir spool;
        ImageDir images = spool.images();
        images.setOutlet(&out);
        memory::FilePageSinks sinks(images);
        const auto sink = sinks.open(memory::MemoryObject::shared(7), 0);
        std::vector<std::byte> pages(3 * kImagePageSize);
        pages[0] = pages[2 * kImagePageSize] = std::byte{1};
        const memory::PageRun run{0, pages.size(), PageFlags::Present};
        sink->add({&run, 1});
        const kernel::RemoteRange range{0, pages.size()};
        CHECK(sink->write({0, {&range, 1}, pages}) == kImagePageSize);
        sink->finish();
        CHECK(std::filesystem::exists(spool.path() + "/pagemap-shmem-7.img"));
        CHECK_FALSE(std::filesystem::exists(spool.path() + "/pages-1.img"));
        sendImages(images, out, Sent::All);
        out.finish();
    }
    CHECK(std::filesystem::file_size(streams.path) < 3 * kImagePageSize);
    streams.receive();
    const std::string pages = streamContentOf(streams.target.path() + "/pages-1.img");
    REQUIRE(pages.size() == 3 * kImagePageSize);
    CHECK(pages[0] == 1);
    CHECK(pages[kImagePageSize] == 0);
    CHECK(pages[2 * kImagePageSize] == 1);
}

TEST_CASE("the process at the other end of a pipe may end, or do nothing", "[stream]") {
    StopRequest stop;
    int ends[2];
    sys(::pipe2(ends, O_CLOEXEC), "make a pipe");
    UniqueFd reading(ends[0]);
    ByteStream out(UniqueFd(ends[1]), stop, 1s, "the pipe");
    const std::vector<std::byte> much(std::size_t{4} << 20);
    CHECK_THAT(errorOf([&] { out.write(much); }), Contains("takes nothing for 1 s"));
    // The pipe has bytes, so a reader gets them at once, and then waits.
    ByteStream in(std::move(reading), stop, 1s, "the pipe");
    std::vector<std::byte> some(1000);
    CHECK(in.read(some) == some.size());
    CHECK_FALSE(out.isDrained());
    std::vector<std::byte> more(much.size());
    CHECK_THAT(errorOf([&] { (void)in.read(more); }), Contains("sends nothing for 1 s"));
    CHECK(out.isDrained());
    out.close();
    CHECK(in.read(some) == 0);
}
