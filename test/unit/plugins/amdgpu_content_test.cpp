// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <sys/wait.h>
#include <catch2/catch.hpp>

#include <compel/process.hpp>

#include <algorithm>
#include <bit>
#include <random>
#include <thread>

#include "amdgpu_fake_kernel.hpp"
#include "criu/base/error.hpp"
#include "criu/device/content_channel.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/sched.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "images/criu-amdgpu.hpp"
#include "plugins/amdgpu/content_driver.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/object_table.hpp"
#include "plugins/amdgpu/subsystem.hpp"
#include "plugins/amdgpu/transfer.hpp"

using namespace criu;
using namespace criu::amdgpu;
using namespace criu::amdgpu::test;
using device::ContentChannel;
using device::ContentMover;
using device::Direction;

namespace {

constexpr std::uint32_t kOldFamily = AMDGPU_FAMILY_VI;
constexpr std::uint32_t kNewFamily = AMDGPU_FAMILY_AI;

std::vector<char> randomBytes(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<char> bytes(size);
    for (char& byte : bytes)
        byte = static_cast<char>(random());
    return bytes;
}

void put(int fd, const std::vector<char>& bytes, std::uint64_t offset = 0) {
    REQUIRE(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes.size()));
}

/// Returns a store that begins at the start of a file.
device::FileContents storeOf(const UniqueFd& file) {
    return {UniqueFd(::dup(file.get())), 0};
}

const memory::ReadWatch kNobodyWatches;

std::vector<char> get(int fd, std::size_t size, std::uint64_t offset = 0) {
    std::vector<char> bytes(size);
    REQUIRE(::pread(fd, bytes.data(), size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size));
    return bytes;
}

/// Images directory.
class Folder {
public:
    Folder() {
        REQUIRE(::mkdtemp(name_) != nullptr);
        images_.emplace(ImageDir::open(name_));
    }
    ~Folder() { std::system(fmt::format("rm -rf {}", name_).c_str()); }
    [[nodiscard]] const ImageDir& images() const { return *images_; }

private:
    char name_[24] = "/tmp/content-XXXXXX";
    std::optional<ImageDir> images_;
};

}  // namespace

TEST_CASE("amdgpu: copy commands") {
    const auto first = copyCommands(kNewFamily, 0x123456789000, 0xabcdef000000, 0x1000);
    REQUIRE(first.size() == 8);
    CHECK(first == std::vector<std::uint32_t>{1, 0xfff, 0, 0x56789000, 0x1234, 0xef000000, 0xabcd, 0});
    CHECK(copyCommands(kOldFamily, 0, 0, 0x1000)[1] == 0x1000);
    // Larger copies need several commands, whose sizes fit into the command's field.
    for (const std::uint32_t family : {kOldFamily, kNewFamily}) {
        const auto commands = copyCommands(family, 0, 0, std::uint64_t{5} << 20);
        CHECK(commands.size() == 24);
        for (std::size_t at = 0; at + 7 <= 21; at += 7)
            CHECK(commands[at + 1] < 1U << 21);
    }
}

TEST_CASE("amdgpu: content goes to a file and back") {
    const std::uint32_t family = GENERATE(kOldFamily, kNewFamily);
    const std::size_t size = GENERATE(std::size_t{4096}, std::size_t{5} << 20, (std::size_t{9} << 20) + 4096);
    const std::uint64_t limit = GENERATE(std::uint64_t{1}, std::uint64_t{3} << 20, std::uint64_t{64} << 20);
    if (limit == 1 && size > 4096)
        return;  // copying page by page takes too long
    FakeKernel kernel(family);
    Copier copier(kernel, 128, limit, [] {});
    const auto bytes = randomBytes(size, 1);
    const UniqueFd source = FakeKernel::makeBuffer(size);
    put(source.get(), bytes);
    const UniqueFd file = FakeKernel::makeBuffer(0);
    device::FileContents store = storeOf(file);
    copier.save({source.get(), 0, size, &store, 8});
    CHECK(get(file.get(), size, 8) == bytes);

    const UniqueFd target = FakeKernel::makeBuffer(size);
    copier.load({target.get(), 0, size, &store, 8});
    CHECK(get(target.get(), size) == bytes);
    CHECK(kernel.executed() >= 2);
}

TEST_CASE("amdgpu: several buffers, small and large in turn") {
    FakeKernel kernel(kNewFamily);
    Copier copier(kernel, 128, std::uint64_t{2} << 20, [] {});
    const UniqueFd file = FakeKernel::makeBuffer(0);
    device::FileContents store = storeOf(file);
    std::uint64_t offset = 0;
    for (const std::size_t size : {std::size_t{4096}, std::size_t{3} << 20, std::size_t{8192}, std::size_t{6} << 20}) {
        const auto bytes = randomBytes(size, static_cast<unsigned>(size));
        const UniqueFd buffer = FakeKernel::makeBuffer(size);
        put(buffer.get(), bytes);
        copier.save({buffer.get(), 0, size, &store, offset});
        CHECK(get(file.get(), size, offset) == bytes);
        offset += size;
    }
}

TEST_CASE("amdgpu: a copy that fails says so, whichever call it was") {
    constexpr std::size_t kSize = std::size_t{3} << 20;
    const bool forGood = GENERATE(false, true);
    const auto bytes = randomBytes(kSize, 2);
    const UniqueFd source = FakeKernel::makeBuffer(kSize);
    put(source.get(), bytes);
    unsigned failed = 0;
    for (unsigned call = 1;; ++call) {
        FakeKernel kernel(kNewFamily);
        if (forGood)
            kernel.failFrom(call);
        else
            kernel.failCall(call);
        const UniqueFd file = FakeKernel::makeBuffer(0);
        device::FileContents store = storeOf(file);
        bool threw = false;
        try {
            GpuContents contents(kernel);
            ContentMover mover(contents, Direction::Save, std::uint64_t{1} << 20, nullptr, kNobodyWatches);
            mover.add(128, {UniqueFd(::dup(source.get())), kSize, &store, 0});
            mover.finish();
        } catch (const Error&) {
            threw = true;
            ++failed;
        }
        if (!threw)  // the copy had fewer calls, or the clean-up failed, or the processor copied instead
            CHECK(get(file.get(), kSize) == bytes);
        if (kernel.calls() < call)
            break;
    }
    CHECK(failed > (forGood ? 10 : 2));
}

TEST_CASE("amdgpu: where the copy engine refuses the processor copies") {
    constexpr std::size_t kSize = (std::size_t{20} << 20) + 4096;
    const auto bytes = randomBytes(kSize, 3);
    const UniqueFd source = FakeKernel::makeBuffer(kSize);
    put(source.get(), bytes);
    FakeKernel kernel(kNewFamily);
    const UniqueFd file = FakeKernel::makeBuffer(0);
    device::FileContents store = storeOf(file);
    const auto run = [&](Direction direction, int buffer) {
        Transfer transfer(kernel, 128, direction, 1 << 20, [] {});
        transfer.copy({buffer, 0, kSize, &store, 8});
        return transfer.fallback();
    };
    SECTION("both ways") {
        kernel.refuseCopies(EINVAL);
        CHECK_THAT(run(Direction::Save, source.get()), Catch::Contains("submit a copy"));
        CHECK(get(file.get(), kSize, 8) == bytes);
        const UniqueFd target = FakeKernel::makeBuffer(kSize);
        run(Direction::Load, target.get());
        CHECK(get(target.get(), kSize) == bytes);
        CHECK(kernel.executed() == 0);
    }
    SECTION("not what it can't reach") {
        kernel.refuseCopies(EINVAL);
        kernel.hideMemory();
        CHECK_THROWS_WITH(run(Direction::Save, source.get()),
                          Catch::Contains("submit a copy") && Catch::Contains("mmap offset"));
    }
    SECTION("not after a reset") {
        kernel.refuseCopies(ECANCELED);
        CHECK_THROWS_WITH(run(Direction::Save, source.get()), Catch::Contains("submit a copy"));
        CHECK(get(file.get(), 0).empty());
    }
    SECTION("not where it works") {
        CHECK(run(Direction::Save, source.get()).empty());
        CHECK(kernel.executed() > 0);
    }
}

TEST_CASE("amdgpu: a copy can be ended between two pieces") {
    constexpr std::size_t kSize = std::size_t{8} << 20;
    FakeKernel kernel(kNewFamily);
    unsigned pulses = 0;
    Copier copier(kernel, 128, std::uint64_t{2} << 20, [&] {
        if (++pulses == 3)
            fail("enough");
    });
    const UniqueFd file = FakeKernel::makeBuffer(kSize);
    device::FileContents store = storeOf(file);
    const UniqueFd buffer = FakeKernel::makeBuffer(kSize);
    CHECK_THROWS_WITH(copier.save({buffer.get(), 0, kSize, &store, 0}), Catch::Contains("enough"));
    CHECK(kernel.executed() < kSize >> 20);
    pulses = 0;
    const unsigned before = kernel.executed();
    CHECK_THROWS_WITH(copier.load({buffer.get(), 0, kSize, &store, 0}), Catch::Contains("enough"));
    CHECK(kernel.executed() - before < kSize >> 20);
    // The failure leaves no state that would disturb the next copy.
    pulses = 3;
    CHECK_NOTHROW(copier.load({buffer.get(), 0, kSize, &store, 0}));
}

TEST_CASE("amdgpu: a content image that is cut short is refused") {
    FakeKernel kernel(kNewFamily);
    Copier copier(kernel, 128, 1 << 20, [] {});
    const UniqueFd file = FakeKernel::makeBuffer(4095);
    device::FileContents store = storeOf(file);
    const UniqueFd target = FakeKernel::makeBuffer(8192);
    CHECK_THROWS_WITH(copier.load({target.get(), 0, 8192, &store, 0}), Catch::Contains("the file ends at"));

    const Folder folder;
    createContent(folder.images(), "content", 4096);
    CHECK_THROWS_WITH(openContent(folder.images(), "content", 4096), Catch::Contains("4104 are needed"));
}

TEST_CASE("amdgpu: a copier's thread runs on processors near its GPU") {
    FakeKernel kernel(kNewFamily);
    GpuContents driver(kernel);
    const std::vector<std::uint64_t> own = kernel::cpuAffinity(0);
    const auto word = std::find_if(own.begin(), own.end(), [](std::uint64_t each) { return each != 0; });
    kernel.setNearCpus(std::to_string((word - own.begin()) * 64 + std::countr_zero(*word)));
    std::thread([&] {
        (void)driver.makeCopier(128, device::Direction::Load, 1 << 20, [] {});
        std::vector<std::uint64_t> expected(own.size());
        expected[static_cast<std::size_t>(word - own.begin())] = *word & -*word;
        CHECK(kernel::cpuAffinity(0) == expected);
    }).join();
}

TEST_CASE("amdgpu: the master fills what others send, two GPUs at a time") {
    const Folder folder;
    FakeKernel kernel(kNewFamily);
    GpuContents driver(kernel);
    constexpr std::size_t kSize = 1 << 20;
    constexpr std::size_t kBuffers = 5;
    std::vector<std::vector<char>> contents;
    std::vector<UniqueFd> targets;
    StopRequest stop;
    kernel::FdStore store;
    store.reserve(700, 710);
    const device::ContentSources sources;
    device::LoadedStores stores(driver, folder.images(), sources, false);
    ContentChannel channel(driver, stores, 1 << 20, stop, kNobodyWatches, store);
    channel.start();
    for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
        const std::string name = pagesImageName(FileId{1}, gpu);
        const UniqueFd file = createContent(folder.images(), name, kSize * kBuffers);
        for (std::size_t at = 0; at < kBuffers; ++at) {
            const std::uint64_t offset = kContentStart + at * kSize;
            contents.push_back(randomBytes(kSize, static_cast<unsigned>(100 * gpu + at)));
            put(file.get(), contents.back(), offset);
            targets.push_back(FakeKernel::makeBuffer(kSize));
            channel.send({128 + gpu, {name, 0, at * kSize}, kSize, UniqueFd(::dup(targets.back().get()))});
        }
    }
    CHECK(channel.finish());
    for (std::size_t at = 0; at < targets.size(); ++at)
        CHECK(get(targets[at].get(), kSize) == contents[at]);
}

TEST_CASE("amdgpu: images are a length and a message") {
    const Folder folder;
    CriuDmabufNode node = CRIU_DMABUF_NODE__INIT;
    node.gem_handle = 7;
    writeImage(folder.images(), dmabufImageName(FileId{3}), node.base);
    const auto read = readMessage<CriuDmabufNode>(folder.images(), "amdgpu-dmabuf_3.img");
    REQUIRE(read);
    CHECK((*read)->gem_handle == 7);
    CHECK_FALSE(readMessage<CriuDmabufNode>(folder.images(), "amdgpu-dmabuf_4.img"));
    CHECK(kfdImageName(FileId{2}) == "amdgpu-kfd-2.img");
    CHECK(pagesImageName(FileId{2}, 0xab) == "amdgpu-pages-2-00ab.img");
    CHECK(renderPagesImageName(FileId{2}, 129, 10) == "amdgpu-drm-pages-2-129-000a.img");

    const UniqueFd broken = createContent(folder.images(), "broken", 1000);
    CHECK_THROWS_WITH(device::readDriverImageBytes(folder.images(), "broken"), Catch::Contains("1000 bytes follow"));
}

TEST_CASE("amdgpu: buffers are passed on by the process that created them") {
    kernel::FdStore store;
    store.openQueue();
    const ObjectTable table({5, 9}, &store);
    CHECK(table.wants(5));
    CHECK_FALSE(table.wants(6));
    const UniqueFd buffer = FakeKernel::makeBuffer(10);
    struct stat one {};
    struct stat other {};
    REQUIRE(::fstat(buffer.get(), &other) == 0);
    {
        const UniqueFd lent(::dup(buffer.get()));
        table.publish(9, lent.get());
    }
    const UniqueFd got = table.fetch(9);
    REQUIRE(::fstat(got.get(), &one) == 0);
    CHECK(one.st_ino == other.st_ino);
}

TEST_CASE("amdgpu: who waits for a number gets it from another process") {
    const NumberTable table({3, 4});
    CHECK_FALSE(table.wants(5));
    table.publish(3, 30);
    CHECK(table.fetch(3) == 30);
    const pid_t child = ::fork();
    if (child == 0) {
        ::usleep(20'000);
        table.publish(4, std::uint64_t{1} << 40);
        ::_exit(0);
    }
    CHECK(table.fetch(4) == std::uint64_t{1} << 40);
    ::waitpid(child, nullptr, 0);
}

TEST_CASE("amdgpu: sizes of the environment") {
    CHECK(parseBufferSize("4096") == 4096);
    CHECK(parseBufferSize("0x10") == 16);
    CHECK(parseBufferSize("010") == 8);
    CHECK(parseBufferSize("2K") == 2048);
    CHECK(parseBufferSize("2k") == 2048);
    CHECK(parseBufferSize("3M") == 3U << 20);
    CHECK(parseBufferSize("1G") == 1U << 30);
    CHECK(parseBufferSize("0") == 0);
    for (const char* const wrong : {"", "M", "5X", "5MB", "-1", "99999999999999999999", "17179869184G"})
        CHECK_THROWS_AS(parseBufferSize(wrong), Error);
}
