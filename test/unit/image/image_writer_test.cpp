// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/writer.hpp"

#include <sys/stat.h>

#include <array>
#include <catch2/catch.hpp>

#include "criu/base/thread_pool.hpp"
#include "criu/image/arena.hpp"
#include "image_fixture.hpp"
#include "images/core.hpp"
#include "images/fs.hpp"
#include "images/inventory.hpp"
#include "images/mm.hpp"
#include "images/pipe-data.hpp"
#include "images/stats.hpp"

using Catch::Contains;
using criu::Arena;
using criu::ImageKind;
using criu::test::Bytes;
using criu::test::contentOf;
using criu::test::errorOf;

TEST_CASE("a written image has the format's very bytes") {
    const criu::test::TemporaryDir tmp;
    const auto dir = tmp.images();
    FsEntry fs = FS_ENTRY__INIT;
    fs.cwd_id = 5;
    fs.root_id = 300;
    fs.has_umask = 1;
    fs.umask = 022;
    auto writer = dir.create(ImageKind::Fs, 7);
    writer.write(fs);
    writer.finish();
    const std::string expected("\x19\x43\x56\x54\x12\x39\x40\x51\x07\0\0\0\x08\x05\x10\xac\x02\x18\x12", 19);
    CHECK(contentOf(tmp.path() + "/fs-7.img") == expected);
    struct stat status {};
    REQUIRE(::fstatat(dir.fd(), "fs-7.img", &status, 0) == 0);
    CHECK((status.st_mode & 0133) == 0);
}

TEST_CASE("each framing writes its own header") {
    const criu::test::TemporaryDir tmp;
    for (const auto kind : {ImageKind::Inventory, ImageKind::StatsDump, ImageKind::Core, ImageKind::Ifaddr}) {
        tmp.images().create(kind).finish();
        CHECK(contentOf(tmp.path() + "/" + criu::imageName(kind)) == Bytes::headerOf(kind).content());
    }
}

TEST_CASE("a message composed in an arena is read back from the file") {
    const criu::test::TemporaryDir tmp;
    const auto dir = tmp.images();
    Arena arena;
    auto* mm = arena.make<MmEntry>();
    const std::array<std::uint64_t, 3> auxv{33, 0x7ffc0000, 0};
    mm->mm_brk = 0x1000;
    mm->n_mm_saved_auxv = auxv.size();
    mm->mm_saved_auxv = arena.copy(std::span<const std::uint64_t>(auxv));
    mm->n_vmas = 1000;
    mm->vmas = arena.messages<VmaEntry>(mm->n_vmas);
    for (std::size_t index = 0; index < mm->n_vmas; ++index) {
        mm->vmas[index]->start = index << 20;
        mm->vmas[index]->fd = -1;
    }
    auto* core = arena.make<CoreEntry>();
    core->mtype = CORE_ENTRY__MARCH__X86_64;
    core->tc = arena.make<TaskCoreEntry>();
    core->tc->comm = arena.string("comm");
    core->tc->signals_s = arena.make<SignalQueueEntry>();
    core->tc->signals_s->n_signals = 1;
    core->tc->signals_s->signals = arena.messages<SiginfoEntry>(1);
    core->tc->signals_s->signals[0]->siginfo = arena.bytes(criu::test::bytesOf("\x01\x02"));

    auto mmFile = dir.create(ImageKind::Mm, 1);
    mmFile.write(*mm);
    mmFile.finish();
    auto coreFile = dir.create(ImageKind::Core, 1);
    coreFile.write(*core);
    coreFile.finish();

    const auto readMm = dir.openRequired(ImageKind::Mm, 1).only<MmEntry>();
    CHECK(readMm->mm_brk == 0x1000);
    REQUIRE(readMm->n_vmas == 1000);
    CHECK(readMm->vmas[999]->start == std::uint64_t{999} << 20);
    CHECK(readMm->vmas[999]->fd == -1);
    CHECK(readMm->mm_saved_auxv[1] == 0x7ffc0000);
    const auto readCore = dir.openRequired(ImageKind::Core, 1).only<CoreEntry>();
    CHECK(readCore->tc->comm == std::string("comm"));
    CHECK(criu::list(readCore->tc->signals_s->signals, readCore->tc->signals_s->n_signals).size() == 1);
    CHECK(criu::bytesOf(readCore->tc->signals_s->signals[0]->siginfo).size() == 2);
}

TEST_CASE("arena memory is initialised, aligned and reusable") {
    Arena arena;
    for (int round = 0; round < 3; ++round) {
        for (std::size_t index = 0; index < 5000; ++index) {
            (void)arena.string("x");
            auto* entry = arena.make<ThreadCoreEntry>();
            REQUIRE(entry->base.descriptor == &thread_core_entry__descriptor);
            REQUIRE(entry->has_sched_nice == 0);
            auto* numbers = arena.array<std::uint64_t>(3);
            REQUIRE(reinterpret_cast<std::uintptr_t>(numbers) % alignof(std::uint64_t) == 0);
            REQUIRE((numbers[0] | numbers[1] | numbers[2]) == 0);
            numbers[2] = 7;
        }
        arena.clear();
    }
    CHECK(arena.array<char*>(0) == nullptr);
    CHECK(arena.bytes({}).len == 0);
    CHECK_THROWS_AS(arena.array<std::uint64_t>(SIZE_MAX / 2), std::bad_array_new_length);
}

TEST_CASE("a record without its required parts isn't written") {
    const criu::test::TemporaryDir tmp;
    auto writer = tmp.images().create(ImageKind::Core, 1);
    CoreEntry core = CORE_ENTRY__INIT;
    TaskCoreEntry tc = TASK_CORE_ENTRY__INIT;
    core.tc = &tc;
    CHECK_THAT(errorOf([&] { writer.write(core); }), Contains("core-1.img: core_entry lacks a required field"));
}

TEST_CASE("payload, padding and direct writes keep their order") {
    const criu::test::TemporaryDir tmp;
    const auto dir = tmp.images();
    const auto size = GENERATE(std::size_t{10}, std::size_t{100000}, std::size_t{600000});
    const std::string payload(size, 'p');
    PipeDataEntry head = PIPE_DATA_ENTRY__INIT;
    auto writer = dir.create(ImageKind::PipesData);
    auto expected = Bytes::headerOf(ImageKind::PipesData);
    for (int round = 0; round < 5; ++round) {
        writer.write(head);
        writer.payload(criu::test::bytesOf(payload));
        writer.zeros(3);
        REQUIRE(::write(writer.flush(), "direct", 6) == 6);
        expected.record(head).append(payload).append(std::string_view("\0\0\0", 3)).append("direct");
    }
    writer.finish();
    CHECK(contentOf(tmp.path() + "/pipes-data.img") == expected.content());
}

TEST_CASE("a full disk is reported, and dropping a writer is quiet") {
    FsEntry fs = FS_ENTRY__INIT;
    const auto full = [] { return criu::UniqueFd(criu::sys(::open("/dev/full", O_WRONLY | O_CLOEXEC), "open")); };
    criu::ImageWriter writer(full(), ImageKind::Fs, "fs-1.img");
    writer.write(fs);
    try {
        writer.finish();
        FAIL("no exception");
    } catch (const criu::Error& error) {
        CHECK(error.code() == ENOSPC);
        CHECK_THAT(error.what(), Contains("fs-1.img: write"));
    }
    criu::ImageWriter large(full(), ImageKind::PipesData, "pipes-data.img");
    const std::string payload(1 << 20, 'p');
    CHECK_THAT(errorOf([&] { large.payload(criu::test::bytesOf(payload)); }), Contains("No space left"));
    criu::ImageWriter dropped(full(), ImageKind::Fs, "fs-1.img");
    dropped.write(fs);
}

TEST_CASE("threads write and read images of one directory side by side") {
    const criu::test::TemporaryDir tmp;
    const auto dir = tmp.images();
    criu::ThreadPool pool(4);
    constexpr std::uint32_t kFiles = 400;
    for (std::uint32_t id = 0; id < kFiles; ++id)
        pool.submit([&dir, id] {
            FsEntry fs = FS_ENTRY__INIT;
            fs.cwd_id = id;
            auto writer = dir.create(ImageKind::Fs, id);
            writer.write(fs);
            writer.finish();
        });
    pool.wait();
    for (std::uint32_t id = 0; id < kFiles; ++id)
        pool.submit([&dir, id] {
            if (dir.openRequired(ImageKind::Fs, id).only<FsEntry>()->cwd_id != id)
                criu::fail("fs-{}.img holds another one's record", id);
        });
    CHECK(errorOf([&] { pool.wait(); }).empty());
}
