// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/device/content_channel.hpp"
#include "criu/memory/pages/page_extensions.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/memory/pages/stored_objects.hpp"
#include "criu/model/page_codec.hpp"

using namespace criu;
using namespace criu::device;

namespace {

constexpr std::size_t kPiece = 4096;

/// Driver without GPUs: its buffers are memfds, copied in pieces, and its content files contain the content alone.
class MemoryDriver final : public ContentDriver {
public:
    [[nodiscard]] std::string_view name() const override { return "memory"; }
    [[nodiscard]] std::string describe(std::uint32_t device) const override {
        return fmt::format("memory device {}", device);
    }
    std::unique_ptr<ContentCopier> makeCopier(std::uint32_t device, Direction direction, std::uint64_t bufferLimit,
                                              StopCheck checkStop) override;
    std::unique_ptr<FileContents> openContent(const ImageDir& images, const std::string& file,
                                              std::uint64_t size) override {
        UniqueFd fd(sys(::openat(images.fd(), file.c_str(), O_RDWR | O_CLOEXEC), "open {}", file));
        struct stat status {};
        sys(::fstat(fd.get(), &status), "look at {}", file);
        if (static_cast<std::uint64_t>(status.st_size) < size)
            fail("{} is too short", file);
        return std::make_unique<FileContents>(std::move(fd), 0);
    }

    std::atomic<std::int64_t> piecesUntilFailure{-1};  ///< negative means that none fails
    std::atomic<std::uint64_t> limit{0};               ///< limit of the last copier
    std::atomic<unsigned> copiers{0};
    std::atomic<bool> slow{false};
};

class MemoryCopier final : public ContentCopier {
public:
    MemoryCopier(MemoryDriver& driver, Direction direction, StopCheck checkStop)
        : driver_(driver), direction_(direction), checkStop_(std::move(checkStop)) {}
    void copy(const ContentPiece& job) override {
        if (driver_.slow)
            fallback_ = "it is slow today";
        std::vector<std::byte> bytes(kPiece);
        for (std::uint64_t done = 0; done < job.size; done += kPiece) {
            checkStop_();
            if (driver_.piecesUntilFailure >= 0 && driver_.piecesUntilFailure-- == 0)
                failWith(EIO, "copy a piece");
            const std::span<std::byte> piece(bytes.data(), std::min<std::uint64_t>(kPiece, job.size - done));
            if (direction_ == Direction::Save) {
                readAt(job.buffer, piece, job.start + done);
                job.store->write(job.position + done, piece);
            } else {
                job.store->read(job.position + done, piece);
                writeAt(job.buffer, piece, job.start + done);
            }
        }
    }
    [[nodiscard]] const std::string& fallback() const override { return fallback_; }

private:
    MemoryDriver& driver_;
    Direction direction_;
    StopCheck checkStop_;
    std::string fallback_;
};

std::unique_ptr<ContentCopier> MemoryDriver::makeCopier(std::uint32_t, Direction direction, std::uint64_t bufferLimit,
                                                        StopCheck checkStop) {
    limit = bufferLimit;
    ++copiers;
    return std::make_unique<MemoryCopier>(*this, direction, std::move(checkStop));
}

UniqueFd makeBuffer(std::size_t size) {
    UniqueFd fd(sys(::memfd_create("buffer", MFD_CLOEXEC), "make a buffer"));
    sys(::ftruncate(fd.get(), static_cast<off_t>(size)), "size a buffer");
    return fd;
}

/// File of contents, which begin at its eighth byte.
struct File {
    explicit File(std::size_t size = 0) : fd(makeBuffer(size)), store(UniqueFd(::dup(fd.get())), 8) {}
    UniqueFd fd;
    FileContents store;
};

const memory::ReadWatch kNobodyWatches;

std::vector<std::byte> randomBytes(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(size);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
    return bytes;
}

std::vector<std::byte> contentOf(const UniqueFd& buffer, std::size_t size, std::uint64_t offset = 0) {
    std::vector<std::byte> bytes(size);
    readAt(buffer.get(), bytes, offset);
    return bytes;
}

UniqueFd copyOf(const UniqueFd& fd) {
    return UniqueFd(sys(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0), "copy a descriptor"));
}

/// Images directory.
class Folder {
public:
    Folder() {
        REQUIRE(::mkdtemp(name_) != nullptr);
        images_.emplace(ImageDir::open(name_));
    }
    ~Folder() { std::system(fmt::format("rm -rf {}", name_).c_str()); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] const ImageDir& images() const { return *images_; }
    [[nodiscard]] UniqueFd create(const std::string& name) const {
        return UniqueFd(sys(::openat(images_->fd(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), "create"));
    }

private:
    char name_[24] = "/tmp/content-XXXXXX";
    std::optional<ImageDir> images_;
};

ContentRequest request(std::uint32_t device, ContentPlace place, std::uint64_t size, const UniqueFd& buffer) {
    ContentRequest made;
    made.device = device;
    made.place = std::move(place);
    made.size = size;
    made.buffer = copyOf(buffer);
    return made;
}

/// Buffers of three devices, and a file for each device with their contents.
struct SentBuffers {
    static constexpr std::size_t kSize = 10 * kPiece + 100;
    static constexpr std::size_t kBuffers = 8;

    explicit SentBuffers(const Folder& folder) {
        for (std::uint32_t device = 0; device < 3; ++device) {
            const UniqueFd file = folder.create(nameOf(device));
            for (std::size_t at = 0; at < kBuffers; ++at) {
                contents.push_back(randomBytes(kSize, static_cast<unsigned>(100 * device + at)));
                writeAt(file.get(), contents.back(), at * kSize);
                targets.push_back(makeBuffer(kSize));
            }
        }
    }
    static std::string nameOf(std::uint32_t device) { return fmt::format("memory-{}", device); }
    void send(const ContentChannel& channel) const {
        for (std::uint32_t device = 0; device < 3; ++device)
            for (std::size_t at = 0; at < kBuffers; ++at)
                channel.send(request(device, {nameOf(device), 0, at * kSize}, kSize, targets[device * kBuffers + at]));
    }

    std::vector<std::vector<std::byte>> contents;
    std::vector<UniqueFd> targets;
};

}  // namespace

TEST_CASE("content engine: buffers of several devices go to files and back") {
    constexpr std::size_t kSize = 3 * kPiece + 1;
    constexpr std::size_t kBuffers = 10;
    MemoryDriver driver;
    std::vector<std::vector<std::byte>> contents;
    File file;
    std::atomic<std::uint64_t> watched{0};
    memory::ReadWatch watch;
    watch.piece = [&](std::chrono::steady_clock::time_point, std::uint64_t bytes) { watched += bytes; };
    const auto move = [&](Direction direction, const std::vector<UniqueFd>& buffers) {
        ContentMover mover(driver, direction, 1000, nullptr, watch);
        for (std::size_t at = 0; at < buffers.size(); ++at)
            mover.add(static_cast<std::uint32_t>(at % 3), {copyOf(buffers[at]), kSize, &file.store, at * kSize});
        mover.finish();
    };
    std::vector<UniqueFd> sources;
    std::vector<UniqueFd> targets;
    for (std::size_t at = 0; at < kBuffers; ++at) {
        contents.push_back(randomBytes(kSize, static_cast<unsigned>(at)));
        sources.push_back(makeBuffer(kSize));
        targets.push_back(makeBuffer(kSize));
        writeAt(sources.back().get(), contents.back(), 0);
    }
    move(Direction::Save, sources);
    // Each device gets as many threads as are useful, and at most one per buffer: four, three and three.
    const std::size_t threads = contentThreads(availableCores(), 3);
    CHECK(driver.copiers == std::min<std::size_t>(threads, 4) + 2 * std::min<std::size_t>(threads, 3));
    CHECK(driver.limit == 1000 / threads);
    move(Direction::Load, targets);
    for (std::size_t at = 0; at < kBuffers; ++at) {
        CHECK(contentOf(file.fd, kSize, 8 + at * kSize) == contents[at]);
        CHECK(contentOf(targets[at], kSize) == contents[at]);
    }
    CHECK(watched == 2 * kBuffers * kSize);
}

TEST_CASE("content engine: threads and their buffers follow cores and devices") {
    CHECK(contentThreads(1, 1) == 2);
    CHECK(contentThreads(2, 1) == 2);
    CHECK(contentThreads(8, 1) == 8);
    CHECK(contentThreads(16, 1) == 16);
    CHECK(contentThreads(128, 1) == 16);
    CHECK(contentThreads(16, 8) == 2);
    CHECK(contentThreads(128, 8) == 16);
    CHECK(contentBuffer(kDefaultContentLimit, 2) == kContentBuffer);
    CHECK(contentBuffer(kDefaultContentLimit, 16) == kContentBuffer);
    CHECK(contentBuffer(64 << 20, 4) == 16 << 20);
}

TEST_CASE("content engine: a large buffer is copied in pieces, by several threads") {
    constexpr std::uint64_t kSize = 2 * kContentPiece + kPiece;
    MemoryDriver driver;
    const UniqueFd source = makeBuffer(kSize);
    File file;
    const std::vector<std::byte> content = randomBytes(2 * kPiece, 1);
    const std::uint64_t places[] = {0, kContentPiece - kPiece, 2 * kContentPiece - kPiece};
    for (const std::uint64_t place : places)
        writeAt(source.get(), content, place);
    ContentMover mover(driver, Direction::Save, 1000, nullptr, kNobodyWatches);
    mover.add(1, {copyOf(source), kSize, &file.store, 0});
    mover.finish();
    CHECK(driver.copiers > 1);
    for (const std::uint64_t place : places)
        CHECK(contentOf(file.fd, content.size(), 8 + place) == content);
}

TEST_CASE("content engine: the first failure names the device and gives up the rest") {
    constexpr std::size_t kSize = 100 * kPiece;
    MemoryDriver driver;
    driver.piecesUntilFailure = 3;
    File file;
    ContentMover mover(driver, Direction::Save, 1000, nullptr, kNobodyWatches);
    for (int at = 0; at < 50; ++at)
        mover.add(7, {makeBuffer(kSize), kSize, &file.store, 0});
    CHECK_THROWS_WITH(mover.finish(), Catch::Contains("memory device 7") && Catch::Contains("copy a piece"));
}

TEST_CASE("content engine: running copies end with the mover") {
    MemoryDriver driver;
    constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;
    const UniqueFd buffer = makeBuffer(kEndless);  // a sparse buffer without memory
    File source(kEndless);
    ContentMover mover(driver, Direction::Load, 1000, nullptr, kNobodyWatches);
    mover.add(1, {copyOf(buffer), kEndless, &source.store, 0});
    while (driver.copiers == 0)
        ::usleep(100);
}

TEST_CASE("content engine: the log tells of copiers that took the slower way") {
    const Folder folder;
    File file;
    MemoryDriver driver;
    driver.slow = GENERATE(false, true);
    ContentMover mover(driver, Direction::Save, 1000, nullptr, kNobodyWatches);
    mover.add(1, {makeBuffer(kPiece), kPiece, &file.store, 0});
    mover.finish();
    Log log;
    log.setLevel(LogLevel::Info);
    log.open("-");
    const UniqueFd text = folder.create("log");
    log.move([&](UniqueFd) { return copyOf(text); });
    mover.report(log);
    std::string lines(static_cast<std::size_t>(::lseek(text.get(), 0, SEEK_END)), '\0');
    readAt(text.get(), std::as_writable_bytes(std::span(lines)), 0);
    CHECK_THAT(lines, Catch::Contains("memory: 4096 bytes of device memory saved"));
    CHECK((lines.find("it is slow today") != std::string::npos) == driver.slow.load());
}

TEST_CASE("content engine: the master fills what others send") {
    const Folder folder;
    const SentBuffers sent(folder);
    MemoryDriver driver;
    StopRequest stop;
    kernel::FdStore store;
    store.reserve(700, 700 + static_cast<int>(ContentChannel::kDescriptors) - 1);
    const ContentSources sources;
    LoadedStores stores(driver, folder.images(), sources, false);
    ContentChannel channel(driver, stores, 1000, stop, kNobodyWatches, store);
    SECTION("well") {
        channel.start();
        sent.send(channel);
        CHECK(channel.finish());
        CHECK_FALSE(channel.finish());
        for (std::size_t at = 0; at < sent.targets.size(); ++at)
            CHECK(contentOf(sent.targets[at], SentBuffers::kSize) == sent.contents[at]);
    }
    SECTION("nothing at all is sent") {
        channel.start();
        CHECK(channel.finish());
    }
    SECTION("with an error on the way") {
        driver.piecesUntilFailure = 20;
        channel.start();
        sent.send(channel);
        CHECK_THROWS_WITH(channel.finish(), Catch::Contains("copy a piece"));
    }
    SECTION("from a file that isn't there") {
        channel.start();
        channel.send(request(1, {"missing", 0, 0}, SentBuffers::kSize, sent.targets[0]));
        CHECK_THROWS_WITH(channel.finish(), Catch::Contains("missing"));
    }
    SECTION("from a file that is too short") {
        channel.start();
        channel.send(
            request(1, {SentBuffers::nameOf(1), 0, SentBuffers::kBuffers * SentBuffers::kSize}, 1, sent.targets[0]));
        CHECK_THROWS_WITH(channel.finish(), Catch::Contains("memory-1 is too short"));
    }
    SECTION("from pages that the images don't have") {
        channel.start();
        channel.send(request(1, {"", 5, 0}, SentBuffers::kSize, sent.targets[0]));
        CHECK_THROWS_WITH(channel.finish(), Catch::Contains("no content of number 5"));
    }
    SECTION("stopped by the user") {
        ::kill(::getpid(), SIGTERM);
        channel.start();
        sent.send(channel);
        CHECK_THROWS_WITH(channel.finish(), Catch::Contains("stopped by SIGTERM"));
    }
    SECTION("given up before the end") {
        channel.start();
        sent.send(channel);
    }
}

TEST_CASE("content engine: contents go to pages and back, in whatever form pages are stored") {
    using memory::Compression;
    const Folder folder;
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
    constexpr std::uint64_t kSizes[] = {5 * kMebibyte + kPiece, kPiece, 3 * kMebibyte, 2 * kPiece};
    constexpr std::uint64_t kTotal = 8 * kMebibyte + 4 * kPiece;
    std::vector<std::vector<std::byte>> contents;
    for (const std::uint64_t size : kSizes) {
        contents.push_back(randomBytes(size, static_cast<unsigned>(size)));
        // Half of the content is compressible; a part is zeroes.
        std::fill(contents.back().begin(), contents.back().begin() + static_cast<std::ptrdiff_t>(size / 2),
                  std::byte{7});
        std::fill(contents.back().begin(), contents.back().begin() + static_cast<std::ptrdiff_t>(size / 4),
                  std::byte{0});
    }
    struct Form {
        memory::Striping striping;
        Compression compression;
        std::vector<std::string> extensions;
        bool ordered;
    };
    const Form forms[] = {
        {{1, 0, true}, {}, {memory::kDevicePages}, false},
        {memory::Striping::asWished(3), {}, {memory::kStripedPages, memory::kDevicePages}, false},
        {{1, 0, true},
         Compression::with(model::PageCodec::Lz4, 1, std::uint64_t{64} << 10),
         {memory::kDevicePages, memory::kCompressedPages},
         true},
    };
    const Form& form = forms[GENERATE(0, 1, 2)];
    const bool frees = GENERATE(false, true);
    MemoryDriver driver;
    {
        memory::FilePageSinks sinks(folder.images(), form.striping, 1, form.compression);
        REQUIRE(sinks.takes(memory::MemoryObject::Kind::Device));
        SavedPages pages(sinks, 4, kTotal);
        CHECK(pages.isOrdered() == form.ordered);
        ContentMover mover(driver, Direction::Save, 1000, nullptr, kNobodyWatches);
        std::uint64_t position = 0;
        for (const auto& content : contents) {
            UniqueFd buffer = makeBuffer(content.size());
            writeAt(buffer.get(), content, 0);
            mover.add(1, {std::move(buffer), content.size(), &pages, position});
            position += content.size();
        }
        mover.finish();
        pages.finish();
        CHECK(sinks.extensions() == form.extensions);
    }
    CHECK(::faccessat(folder.images().fd(), "pagemap-device-4.img", F_OK, 0) == 0);
    // `criu verify` finds the contents like this.
    CHECK(memory::objectsIn(folder.images()) == std::vector{memory::MemoryObject::device(4)});
    const memory::FilePageSources files(folder.images());
    ContentSources sources;
    sources.emplace(4, files.openRequired(memory::MemoryObject::device(4)));
    LoadedStores stores(driver, folder.images(), sources, frees);
    ContentMover mover(driver, Direction::Load, 1000, nullptr, kNobodyWatches);
    std::vector<UniqueFd> targets;
    std::uint64_t position = 0;
    for (const auto& content : contents) {
        targets.push_back(makeBuffer(content.size()));
        mover.add(1, {copyOf(targets.back()), content.size(), &stores.at({"", 4, position}, content.size()), position});
        position += content.size();
    }
    mover.finish();
    for (std::size_t at = 0; at < contents.size(); ++at)
        CHECK(contentOf(targets[at], contents[at].size()) == contents[at]);
    std::vector<std::byte> beyond(kPiece);
    CHECK_THROWS_WITH(stores.at({"", 4, 0}, 1).read(kTotal, beyond), Catch::Contains("don't have the content"));
    CHECK_THROWS_WITH(stores.at({"", 4, 0}, 1).write(0, beyond), Catch::Contains("is being loaded"));
}

TEST_CASE("content engine: a failure ends threads that wait for the order of compressed pages") {
    const Folder folder;
    MemoryDriver driver;
    driver.piecesUntilFailure = GENERATE(0, 3, 300, 700);
    memory::FilePageSinks sinks(folder.images(), {1, 0, true}, 1,
                                memory::Compression::with(model::PageCodec::Lz4, 1, 1 << 18));
    constexpr std::uint64_t kSize = std::uint64_t{16} << 20;
    SavedPages pages(sinks, 1, kSize);
    ContentMover mover(driver, Direction::Save, 1000, nullptr, kNobodyWatches);
    mover.add(1, {makeBuffer(kSize), kSize, &pages, 0});
    CHECK_THROWS_WITH(mover.finish(), Catch::Contains("copy a piece"));
}

TEST_CASE("content engine: only dumps for this criu have contents in pages") {
    const Folder folder;
    const memory::FilePageSinks compat(folder.images());
    CHECK_FALSE(compat.takes(memory::MemoryObject::Kind::Device));
    CHECK(compat.takes(memory::MemoryObject::Kind::Process));
    memory::FilePageSinks sinks(folder.images(), {1, 0, true});
    SavedPages pages(sinks, 1, 2 * kPiece);
    const std::vector<std::byte> odd(100);
    CHECK_THROWS_WITH(pages.write(0, odd), Catch::Contains("aren't whole pages"));
}
