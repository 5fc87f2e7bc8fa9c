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

using namespace criu;
using namespace criu::device;

namespace {

constexpr std::size_t kPiece = 4096;

/// A driver that has nothing to do with GPUs: its buffers are memfds, copied piece by piece, and its content files are
/// nothing but the content.
class MemoryDriver final : public ContentDriver {
public:
    [[nodiscard]] std::string_view name() const override { return "memory"; }
    [[nodiscard]] std::string describe(std::uint32_t device) const override {
        return fmt::format("memory device {}", device);
    }
    std::unique_ptr<ContentCopier> makeCopier(std::uint32_t device, Direction direction, std::uint64_t bufferLimit,
                                              StopCheck checkStop) override;
    UniqueFd openContent(const ImageDir& images, const std::string& file, std::uint64_t end) override {
        UniqueFd fd(sys(::openat(images.fd(), file.c_str(), O_RDWR | O_CLOEXEC), "open {}", file));
        struct stat status {};
        sys(::fstat(fd.get(), &status), "look at {}", file);
        if (static_cast<std::uint64_t>(status.st_size) < end)
            fail("{} is too short", file);
        return fd;
    }

    std::atomic<std::int64_t> piecesUntilFailure{-1};  ///< negative: none fails
    std::atomic<std::uint64_t> limit{0};               ///< of the last copier
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
            const bool save = direction_ == Direction::Save;
            readAt(save ? job.buffer : job.file, piece, save ? job.start + done : job.offset + done);
            writeAt(save ? job.file : job.buffer, piece, save ? job.offset + done : job.start + done);
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

/// An images directory.
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

/// Buffers of three devices and the file of each device with their contents.
struct Sent {
    static constexpr std::size_t kSize = 10 * kPiece + 100;
    static constexpr std::size_t kBuffers = 8;

    explicit Sent(const Folder& folder) {
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
                channel.send({device, nameOf(device), at * kSize, kSize, copyOf(targets[device * kBuffers + at])});
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
    const UniqueFd file = makeBuffer(0);
    const auto move = [&](Direction direction, const std::vector<UniqueFd>& buffers) {
        ContentMover mover(driver, direction, 1000, nullptr);
        for (std::size_t at = 0; at < buffers.size(); ++at)
            mover.add(static_cast<std::uint32_t>(at % 3), {copyOf(buffers[at]), kSize, file.get(), 8 + at * kSize});
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
    // Each device has as many threads as pay off, and as it has buffers: four, three and three.
    const unsigned threads = std::clamp(availableCores() / 2, 2U, 4U);
    CHECK(driver.copiers == threads + 2 * std::min(threads, 3U));
    CHECK(driver.limit == 1000 / threads);
    move(Direction::Load, targets);
    for (std::size_t at = 0; at < kBuffers; ++at) {
        CHECK(contentOf(file, kSize, 8 + at * kSize) == contents[at]);
        CHECK(contentOf(targets[at], kSize) == contents[at]);
    }
}

TEST_CASE("content engine: a large buffer is copied in pieces, by several threads") {
    constexpr std::uint64_t kSize = 2 * kContentPiece + kPiece;
    MemoryDriver driver;
    const UniqueFd source = makeBuffer(kSize);
    const UniqueFd file = makeBuffer(0);
    const std::vector<std::byte> content = randomBytes(2 * kPiece, 1);
    const std::uint64_t places[] = {0, kContentPiece - kPiece, 2 * kContentPiece - kPiece};
    for (const std::uint64_t place : places)
        writeAt(source.get(), content, place);
    ContentMover mover(driver, Direction::Save, 1000, nullptr);
    mover.add(1, {copyOf(source), kSize, file.get(), 8});
    mover.finish();
    CHECK(driver.copiers > 1);
    for (const std::uint64_t place : places)
        CHECK(contentOf(file, content.size(), 8 + place) == content);
}

TEST_CASE("content engine: the first failure names the device and gives up the rest") {
    constexpr std::size_t kSize = 100 * kPiece;
    MemoryDriver driver;
    driver.piecesUntilFailure = 3;
    const UniqueFd file = makeBuffer(0);
    ContentMover mover(driver, Direction::Save, 1000, nullptr);
    for (int at = 0; at < 50; ++at)
        mover.add(7, {makeBuffer(kSize), kSize, file.get(), 0});
    CHECK_THROWS_WITH(mover.finish(), Catch::Contains("memory device 7") && Catch::Contains("copy a piece"));
}

TEST_CASE("content engine: what is under way ends with the mover") {
    MemoryDriver driver;
    const UniqueFd file = makeBuffer(0);
    constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;
    const UniqueFd buffer = makeBuffer(kEndless);  // of which nothing has memory
    ContentMover mover(driver, Direction::Load, 1000, nullptr);
    UniqueFd source = makeBuffer(kEndless);
    mover.add(1, {copyOf(buffer), kEndless, source.get(), 0});
    while (driver.copiers == 0)
        ::usleep(100);
}

TEST_CASE("content engine: the log tells of copiers that took the slower way") {
    const Folder folder;
    const UniqueFd file = makeBuffer(0);
    MemoryDriver driver;
    driver.slow = GENERATE(false, true);
    ContentMover mover(driver, Direction::Save, 1000, nullptr);
    mover.add(1, {makeBuffer(kPiece), kPiece, file.get(), 0});
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
    const Sent sent(folder);
    MemoryDriver driver;
    StopRequest stop;
    kernel::FdStore store;
    store.reserve(700, 700 + static_cast<int>(ContentChannel::kDescriptors) - 1);
    ContentChannel channel(driver, folder.images(), 1000, stop, store);
    SECTION("well") {
        channel.start();
        sent.send(channel);
        CHECK(channel.finish());
        CHECK_FALSE(channel.finish());
        for (std::size_t at = 0; at < sent.targets.size(); ++at)
            CHECK(contentOf(sent.targets[at], Sent::kSize) == sent.contents[at]);
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
        channel.send({1, "missing", 0, Sent::kSize, copyOf(sent.targets[0])});
        CHECK_THROWS_WITH(channel.finish(), Catch::Contains("missing"));
    }
    SECTION("from a file that is too short") {
        channel.start();
        channel.send({1, Sent::nameOf(1), Sent::kBuffers * Sent::kSize, 1, copyOf(sent.targets[0])});
        CHECK_THROWS_WITH(channel.finish(), Catch::Contains("memory-1 is too short"));
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
