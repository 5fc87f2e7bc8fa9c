// SPDX-License-Identifier: GPL-2.0-only
// Entries of files that a restore must refuse before it creates anything.
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/sysmacros.h>
#include <catch2/catch.hpp>

#include "criu/base/log.hpp"
#include "criu/files/anonymous_kinds.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/pipe.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/options.hpp"
#include "criu/tty/outside_terminals.hpp"
#include "criu/tty/tty_kind.hpp"
#include "image_fixture.hpp"
#include "images/bpfmap-data.hpp"
#include "images/bpfmap-file.hpp"
#include "images/fdinfo.hpp"
#include "images/pidfd.hpp"
#include "images/pipe-data.hpp"
#include "images/pipe.hpp"
#include "images/tty.hpp"

using Catch::Contains;
using criu::FileId;
using criu::ImageKind;
using criu::UniqueFd;
using criu::test::errorOf;

namespace {

constexpr pid_t kKnownPid = 7;

/// Images with one process and the entries of a test.
class Images final : public criu::files::FileRestore {
public:
    [[nodiscard]] const criu::model::Options& options() const override { return options_; }
    [[nodiscard]] criu::Log& log() override { return log_; }
    [[nodiscard]] const criu::ImageDir& images() const override { return images_; }
    [[nodiscard]] const FileEntry& entry(FileId id) const override { criu::fail("no file {}", id); }
    [[nodiscard]] std::vector<const FileEntry*> entries(FdTypes) const override { return {}; }
    [[nodiscard]] std::optional<std::uint32_t> namespaceNumber(criu::kernel::NamespaceKind) const override {
        return std::nullopt;
    }
    [[nodiscard]] bool hasProcess(criu::TreePid pid) const override { return pid == criu::TreePid(kKnownPid); }
    std::shared_ptr<criu::files::RestoredFile> file(FileId id) override { criu::fail("no file {}", id); }
    [[nodiscard]] std::vector<FileId> besides(FileId) const override { return {}; }
    [[nodiscard]] std::vector<criu::TreePid> users(FileId) const override { return {}; }
    [[nodiscard]] bool isStandardStream(FileId /*id*/) const override { return false; }

private:
    criu::test::TemporaryDir directory_;
    criu::ImageDir images_ = directory_.images();
    criu::model::Options options_;
    criu::Log log_;
};

/// Opens only files that need no path.
class Opener final : public criu::files::FileOpener {
public:
    explicit Opener(Images& images) : images_(images) {}
    [[nodiscard]] const criu::model::Options& options() const override { return images_.options(); }
    [[nodiscard]] criu::Log& log() override { return images_.log(); }
    [[nodiscard]] const criu::ImageDir& images() const override { return images_.images(); }
    [[nodiscard]] const criu::kernel::Usernsd* usernsd() const override { return nullptr; }
    void provide(FileId, UniqueFd fd) override { provided.push_back(std::move(fd)); }
    UniqueFd toServiceRange(UniqueFd fd) override { return fd; }
    UniqueFd settle(FileId, UniqueFd fd) override { return fd; }
    [[nodiscard]] int find(FileId) const override { return -1; }
    [[nodiscard]] bool isHeld(FileId) const override { return true; }
    [[nodiscard]] int inherited(std::string_view) const override { return -1; }
    [[nodiscard]] pid_t numberOf(criu::TreePid process) const override { return process.value; }
    UniqueFd openPath(FileId, int, criu::files::PathCheck) override { return {}; }
    void inNetwork(std::uint32_t /*number*/, const std::function<void()>& work) override { work(); }
    void onMount(int /*mount*/, const std::function<void()>& work) override { work(); }
    void postpone() override {}

    std::vector<UniqueFd> provided;

private:
    Images& images_;
};

}  // namespace

TEST_CASE("a pipe that is said to hold more than it can is an error") {
    Images images;
    const std::vector<std::byte> content(200000, std::byte{'x'});
    PipeDataEntry data = PIPE_DATA_ENTRY__INIT;
    data.bytes = static_cast<std::uint32_t>(GENERATE(1000, 200000));
    auto image = images.images().create(ImageKind::PipesData);
    image.write(data);
    image.payload(std::span(content).first(data.bytes));
    image.finish();
    const auto kind = criu::files::makePipeRestore();
    kind->prepare(images);

    PipeEntry pipe = PIPE_ENTRY__INIT;
    pipe.flags = O_WRONLY;
    FileEntry entry = FILE_ENTRY__INIT;
    entry.pipe = &pipe;
    const auto restored = kind->collect(entry, images);
    Opener opener(images);
    if (data.bytes > 65536) {
        CHECK_THAT(errorOf([&] { restored->open(opener); }), Contains("bytes fit into pipe"));
        return;
    }
    restored->open(opener);
    REQUIRE(opener.provided.size() == 1);
    CHECK((::fcntl(opener.provided.front().get(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("a pidfd must be of a process of the images, or of none") {
    Images images;
    const auto kind = criu::files::makePidFdRestore();
    PidfdEntry pidfd = PIDFD_ENTRY__INIT;
    FileEntry entry = FILE_ENTRY__INIT;
    entry.pidfd = &pidfd;
    for (const pid_t pid : {kKnownPid, -1}) {
        pidfd.nspid = pid;
        CHECK(kind->collect(entry, images) != nullptr);
    }
    pidfd.nspid = 1;
    CHECK_THAT(errorOf([&] { (void)kind->collect(entry, images); }),
               Contains("process 1, which the images don't have"));
}

TEST_CASE("a BPF map must be of a kind whose elements are what the images have") {
    Images images;
    const auto kind = criu::files::makeBpfMapRestore();
    BpfmapFileEntry map = BPFMAP_FILE_ENTRY__INIT;
    map.map_type = BPF_MAP_TYPE_ARRAY;
    FileEntry entry = FILE_ENTRY__INIT;
    entry.bpf = &map;
    CHECK(kind->collect(entry, images) != nullptr);
    map.map_type = BPF_MAP_TYPE_PERCPU_ARRAY;
    CHECK_THAT(errorOf([&] { (void)kind->collect(entry, images); }), Contains("only hash and array maps"));
}

TEST_CASE("elements of BPF maps take no memory that their image hasn't got") {
    Images images;
    BpfmapDataEntry head = BPFMAP_DATA_ENTRY__INIT;
    head.keys_bytes = 0xffffffff;
    auto image = images.images().create(ImageKind::BpfmapData);
    image.write(head);
    image.finish();
    CHECK_THAT(errorOf([&] { criu::files::makeBpfMapRestore()->prepare(images); }), Contains("doesn't fit"));
}

TEST_CASE("the master of a pseudoterminal must have settings") {
    Images images;
    TtyPtyEntry pty = TTY_PTY_ENTRY__INIT;
    TtyInfoEntry info = TTY_INFO_ENTRY__INIT;
    info.id = 5;
    info.type = TTY_TYPE__PTY;
    info.pty = &pty;
    info.rdev = static_cast<std::uint32_t>(makedev(136, 2));
    auto image = images.images().create(ImageKind::TtyInfo);
    image.write(info);
    image.finish();
    const criu::tty::OutsideTerminals outside([](criu::TreePid) { return criu::TreePid(); });
    const auto kind = criu::tty::makeTtyRestore(outside);
    kind->prepare(images);

    TtyFileEntry file = TTY_FILE_ENTRY__INIT;
    file.tty_info_id = info.id;
    FileEntry entry = FILE_ENTRY__INIT;
    entry.tty = &file;
    CHECK_THAT(errorOf([&] { (void)kind->collect(entry, images); }), Contains("has no settings"));
}
