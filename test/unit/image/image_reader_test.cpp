// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/reader.hpp"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <initializer_list>
#include <thread>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/record.hpp"
#include "image_fixture.hpp"
#include "images/cgroup.hpp"
#include "images/core-aarch64.hpp"
#include "images/core.hpp"
#include "images/inventory.hpp"
#include "images/pipe-data.hpp"
#include "images/pstree.hpp"
#include "images/rpc.hpp"
#include "images/seccomp.hpp"
#include "images/stats.hpp"
#include "images/utsns.hpp"

using Catch::Contains;
using criu::ImageKind;
using criu::ImageReader;
using criu::ImageVersion;
using criu::UniqueFd;
using criu::test::Bytes;
using criu::test::errorOf;

namespace {

PstreeEntry process(std::uint32_t pid) {
    PstreeEntry entry = PSTREE_ENTRY__INIT;
    entry.pid = entry.pgid = entry.sid = pid;
    entry.ppid = pid - 1;
    return entry;
}

ImageReader pstree(const Bytes& bytes) {
    return {bytes.file(), ImageKind::Pstree, "pstree.img"};
}

// Ends of a pipe whose writer sends `content` and closes.
class PipeFile {
public:
    explicit PipeFile(std::string content) {
        int ends[2];
        criu::sys(::pipe2(ends, O_CLOEXEC), "make a pipe");
        read_ = UniqueFd(ends[0]);
        writer_ = std::thread([content = std::move(content), end = UniqueFd(ends[1])] {
            for (std::size_t done = 0; done < content.size();) {
                const ssize_t now = ::write(end.get(), content.data() + done, content.size() - done);
                if (now <= 0)
                    return;
                done += static_cast<std::size_t>(now);
            }
        });
    }
    ~PipeFile() { writer_.join(); }
    UniqueFd take() { return std::move(read_); }

private:
    UniqueFd read_;
    std::thread writer_;
};

}  // namespace

TEST_CASE("records are read in order up to the end of the file") {
    auto bytes = Bytes::headerOf(ImageKind::Pstree);
    for (std::uint32_t pid = 1; pid <= 3; ++pid)
        bytes.record(process(pid));
    auto reader = pstree(bytes);
    for (std::uint32_t pid = 1; pid <= 3; ++pid) {
        const auto entry = reader.next<PstreeEntry>();
        REQUIRE(entry);
        CHECK((*entry)->pid == pid);
        CHECK((*entry)->ppid == pid - 1);
    }
    CHECK_FALSE(reader.next<PstreeEntry>());
    CHECK_FALSE(reader.next<PstreeEntry>());
    CHECK(reader.offset() == bytes.content().size());
    CHECK(pstree(bytes).all<PstreeEntry>().size() == 3);
}

TEST_CASE("an empty record and a file of no records are fine") {
    ImageReader reader(Bytes::headerOf(ImageKind::Seccomp).record("").file(), ImageKind::Seccomp, "seccomp.img");
    CHECK(reader.only<SeccompEntry>()->n_seccomp_filters == 0);
    CHECK(pstree(Bytes::headerOf(ImageKind::Pstree)).all<PstreeEntry>().empty());
}

TEST_CASE("header magics are checked") {
    const auto open = [](const Bytes& bytes, ImageKind kind, ImageVersion version = ImageVersion::V1_1) {
        return errorOf([&] { ImageReader(bytes.file(), kind, "a.img", version); });
    };
    const std::uint32_t magic = criu::imageInfo(ImageKind::Core).magic;

    CHECK(open(Bytes().word(criu::kCommonMagic).word(magic), ImageKind::Core).empty());
    CHECK(open(Bytes().word(magic), ImageKind::Core, ImageVersion::V1).empty());
    CHECK_THAT(open(Bytes().word(magic), ImageKind::Core), Contains("a.img") && Contains("not the mark of an image"));
    CHECK_THAT(open(Bytes().word(criu::kServiceMagic).word(magic), ImageKind::Core), Contains("not the mark"));
    CHECK_THAT(open(Bytes().word(criu::kCommonMagic).word(magic), ImageKind::Core, ImageVersion::V1),
               Contains("has magic 0x54564319"));
    CHECK_THAT(open(Bytes::headerOf(ImageKind::Mm), ImageKind::Core), Contains("CORE images have 0x55053847"));
    CHECK_THAT(open(Bytes(), ImageKind::Core), Contains("ends at offset 0, within its header"));
    CHECK_THAT(open(Bytes().word(criu::kCommonMagic).append("ab"), ImageKind::Core), Contains("ends at offset 6"));

    CHECK(open(Bytes::headerOf(ImageKind::Inventory), ImageKind::Inventory).empty());
    CHECK_THAT(open(Bytes().word(criu::kCommonMagic), ImageKind::Inventory), Contains("has magic"));
    CHECK(open(Bytes::headerOf(ImageKind::StatsDump), ImageKind::StatsDump).empty());
    CHECK(open(Bytes().word(criu::kCommonMagic).word(0x57093306), ImageKind::StatsDump).empty());
    CHECK(open(Bytes(), ImageKind::Pages).empty());
}

TEST_CASE("truncation anywhere is an error that says where") {
    auto bytes = Bytes::headerOf(ImageKind::Pstree);
    bytes.record(process(1));
    const std::size_t second = bytes.content().size();
    bytes.record(process(2));
    const std::string whole = bytes.content();
    for (std::size_t size = second + 1; size < whole.size(); ++size) {
        INFO("cut to " << size);
        bytes.content() = whole.substr(0, size);
        auto reader = pstree(bytes);
        reader.one<PstreeEntry>();
        CHECK_THAT(errorOf([&] { (void)reader.next<PstreeEntry>(); }),
                   Contains("pstree.img: record 1 at offset " + std::to_string(second)));
    }
}

TEST_CASE("record sizes are checked before memory is taken for them") {
    auto reader = pstree(Bytes::headerOf(ImageKind::Pstree).word(0xffffffff).append("x"));
    CHECK_THAT(errorOf([&] { (void)reader.next<PstreeEntry>(); }),
               Contains("record 0 at offset 8") && Contains("4294967295 bytes doesn't fit"));

    // A sparse file has the size that it claims.
    const auto bytes = Bytes::headerOf(ImageKind::Pstree).word(0x7fffffff);
    UniqueFd fd = bytes.file();
    criu::sys(::ftruncate(fd.get(), off_t{1} << 32), "grow");
    ImageReader sparse(std::move(fd), ImageKind::Pstree, "pstree.img");
    CHECK_THAT(errorOf([&] { (void)sparse.next<PstreeEntry>(); }), Contains("exceeds the limit"));
}

TEST_CASE("bytes that are no message of the type are rejected") {
    const auto decode = [](std::string_view encoding) {
        auto reader = pstree(Bytes::headerOf(ImageKind::Pstree).record(process(1)).record(encoding));
        reader.one<PstreeEntry>();
        return errorOf([&] { (void)reader.next<PstreeEntry>(); });
    };
    CHECK_THAT(decode("\xff\xff\xff"), Contains("record 1 at offset") && Contains("not a valid pstree_entry"));
    CHECK_THAT(decode(std::string_view("\x08\x01", 2)), Contains("not a valid pstree_entry"));
    CHECK_THAT(decode(""), Contains("not a valid pstree_entry"));
}

TEST_CASE("negative numbers of enumerations are rejected") {
    const auto typed = [](std::initializer_list<unsigned char> number) {
        std::vector<std::byte> bytes{std::byte{8}};  // criu_req.type
        for (const unsigned char byte : number)
            bytes.push_back(std::byte{byte});
        return errorOf([&] { static_cast<void>(criu::decode<CriuReq>(bytes)); });
    };
    CHECK(typed({1}).empty());
    CHECK(typed({0xff, 0x7f}).empty());  // unknown, so the reader must refuse it
    CHECK_THAT(typed({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}), Contains("criu_req.type is -1,"));
    CHECK_THAT(typed({0x80, 0x80, 0x80, 0x80, 8}), Contains("isn't one of its values"));
}

TEST_CASE("strings with a zero byte are rejected") {
    const std::string_view encoding(
        "\x0a\x03"
        "a\0b"
        "\x12\x01"
        "d",
        8);
    ImageReader reader(Bytes::headerOf(ImageKind::Utsns).record(encoding).file(), ImageKind::Utsns, "utsns-1.img");
    CHECK_THAT(errorOf([&] { reader.one<UtsnsEntry>(); }), Contains("utsns_entry.nodename holds a zero byte"));
}

TEST_CASE("messages nested without end are rejected") {
    const auto nested = [](unsigned levels) {
        criu::Arena arena;
        auto* dir = arena.make<CgroupDirEntry>();
        dir->dir_name = arena.string("d");
        for (unsigned level = 1; level < levels; ++level) {
            auto* parent = arena.make<CgroupDirEntry>();
            parent->dir_name = dir->dir_name;
            parent->n_children = 1;
            parent->children = arena.array<CgroupDirEntry*>(1);
            parent->children[0] = dir;
            dir = parent;
        }
        Bytes bytes;
        bytes.record(*dir);
        return errorOf([&] { criu::decode<CgroupDirEntry>(criu::test::bytesOf(bytes.content()).subspan(4)); });
    };
    CHECK(nested(criu::kMaxRecordNesting).empty());
    CHECK_THAT(nested(criu::kMaxRecordNesting + 2), Contains("nested deeper"));
    CHECK_THAT(nested(5000), Contains("nested deeper"));
}

TEST_CASE("one and only report missing and additional records") {
    auto none = pstree(Bytes::headerOf(ImageKind::Pstree));
    CHECK_THAT(errorOf([&] { none.one<PstreeEntry>(); }), Contains("where a pstree_entry is required"));
    auto two = pstree(Bytes::headerOf(ImageKind::Pstree).record(process(1)).record(process(2)));
    CHECK_THAT(errorOf([&] { two.only<PstreeEntry>(); }), Contains("should end here"));
    auto garbage = pstree(Bytes::headerOf(ImageKind::Pstree).record(process(1)).append("x"));
    CHECK_THAT(errorOf([&] { garbage.only<PstreeEntry>(); }), Contains("should end here"));
}

TEST_CASE("payload is found behind its record, whatever its size") {
    const auto size =
        GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{70000}, std::size_t{200000});
    const bool pipe = GENERATE(false, true);
    INFO(size << " bytes, pipe: " << pipe);
    std::string payload(size, '\0');
    for (std::size_t index = 0; index < size; ++index)
        payload[index] = static_cast<char>(index * 7 + index / 256);
    PipeDataEntry head = PIPE_DATA_ENTRY__INIT;
    head.bytes = static_cast<std::uint32_t>(size);
    auto bytes = Bytes::headerOf(ImageKind::PipesData);
    for (int i = 0; i < 3; ++i)
        bytes.record(head).append(payload);
    bytes.record(head);
    const auto open = [&](UniqueFd fd) { return ImageReader(std::move(fd), ImageKind::PipesData, "pipes-data.img"); };
    std::optional<PipeFile> source;
    if (pipe)
        source.emplace(bytes.content());
    auto reader = open(pipe ? source->take() : bytes.file());

    std::string got(reader.one<PipeDataEntry>()->bytes, 'x');
    reader.readPayload(std::as_writable_bytes(std::span(got)));
    CHECK(got == payload);
    const std::vector<std::byte> second = reader.payload(reader.one<PipeDataEntry>()->bytes);
    CHECK(std::ranges::equal(second, std::as_bytes(std::span(payload))));
    reader.skipPayload(reader.one<PipeDataEntry>()->bytes);
    CHECK(reader.one<PipeDataEntry>()->bytes == size);
    CHECK(reader.offset() == bytes.content().size());
    reader.expectEnd();
}

TEST_CASE("payload that isn't there is an error") {
    const auto bytes = Bytes::headerOf(ImageKind::Pstree).append("abc");
    std::string target(100000, '\0');
    const auto buffer = std::as_writable_bytes(std::span(target));
    CHECK_THAT(errorOf([&] { pstree(bytes).readPayload(buffer); }), Contains("100000 bytes doesn't fit"));
    CHECK_THAT(errorOf([&] { pstree(bytes).skipPayload(4); }), Contains("4 bytes doesn't fit"));
    CHECK_THAT(errorOf([&] { (void)pstree(bytes).payload(0xffffffffffff); }), Contains("doesn't fit"));
    const auto open = [](PipeFile& pipe) { return ImageReader(pipe.take(), ImageKind::Pstree, "pstree.img"); };
    PipeFile first(bytes.content());
    CHECK_THAT(errorOf([&] { open(first).readPayload(buffer); }), Contains("bytes before a payload does"));
    PipeFile second(bytes.content());
    CHECK_THAT(errorOf([&] { open(second).skipPayload(4); }), Contains("ends within a payload"));
    PipeFile third(bytes.content());
    CHECK_THAT(errorOf([&] { open(third).readPayload(buffer.first(4)); }), Contains("ends within a payload"));
    PipeFile fourth(bytes.content());
    CHECK_THAT(errorOf([&] { (void)open(fourth).payload(0xffffffffffff); }), Contains("bytes before a payload does"));
}

TEST_CASE("rest reads the remaining bytes, up to a limit") {
    const std::string tail(150000, 't');
    const auto bytes = Bytes::headerOf(ImageKind::Pstree).record(process(1)).append(tail);
    auto reader = pstree(bytes);
    reader.one<PstreeEntry>();
    CHECK(reader.rest(tail.size()).size() == tail.size());
    CHECK(reader.rest(0).empty());
    auto other = pstree(bytes);
    other.one<PstreeEntry>();
    CHECK_THAT(errorOf([&] { (void)other.rest(tail.size() - 1); }), Contains("more than 149999 bytes follow"));
}

TEST_CASE("a pipe is read like a file, and a size it doesn't keep is an error") {
    auto bytes = Bytes::headerOf(ImageKind::Utsns);
    UtsnsEntry entry = UTSNS_ENTRY__INIT;
    std::string large(300000, 'n');
    entry.nodename = large.data();
    entry.domainname = large.data();
    bytes.record(entry).record(entry);
    PipeFile whole(bytes.content());
    CHECK(ImageReader(whole.take(), ImageKind::Utsns, "u").all<UtsnsEntry>().size() == 2);

    PipeFile cut(Bytes::headerOf(ImageKind::Utsns).word(100 << 20).append("xyz").content());
    ImageReader reader(cut.take(), ImageKind::Utsns, "u");
    CHECK_THAT(errorOf([&] { (void)reader.next<UtsnsEntry>(); }), Contains("ends within the record of 104857600"));
    PipeFile huge(Bytes::headerOf(ImageKind::Utsns).word(0xfffffff0).append("xyz").content());
    ImageReader limited(huge.take(), ImageKind::Utsns, "u");
    CHECK_THAT(errorOf([&] { (void)limited.next<UtsnsEntry>(); }), Contains("exceeds the limit"));
}

TEST_CASE("files larger than the buffer are read record by record") {
    auto bytes = Bytes::headerOf(ImageKind::Utsns);
    UtsnsEntry entry = UTSNS_ENTRY__INIT;
    std::vector<std::string> names;
    for (std::size_t index = 0; index < 300; ++index) {
        names.push_back(std::string(index * 37 % 5000, 'a') + std::to_string(index));
        entry.nodename = names.back().data();
        entry.domainname = names.back().data();
        bytes.record(entry);
    }
    ImageReader reader(bytes.file(), ImageKind::Utsns, "utsns-1.img");
    for (const std::string& name : names)
        CHECK(reader.one<UtsnsEntry>()->nodename == name);
    reader.expectEnd();
}

TEST_CASE("a field that criu doesn't know is refused by its number and message", "[image]") {
    const std::string known("\x08\x01\x10\x00\x18\x01\x20\x01", 8);
    const auto textOf = [&](const std::string& more) {
        ImageReader reader = pstree(Bytes::headerOf(ImageKind::Pstree).record(known + more));
        return errorOf([&] { (void)reader.one<PstreeEntry>(); });
    };
    CHECK_THAT(textOf("\x98\x06\x07"), Contains("pstree.img") && Contains("field 99 of pstree_entry isn't known"));
    CHECK_THAT(textOf(std::string("\x9d\x06\0\0\0\0", 6)), Contains("field 99 of pstree_entry"));
    CHECK_THAT(textOf("\x9a\x06\x03"
                      "abc"),
               Contains("field 99 of pstree_entry"));
}

TEST_CASE("an unknown field of a nested message is refused", "[image]") {
    // a task_kobj_ids_entry with the fields 1 to 4, and 50
    const std::string ids("\x08\x01\x10\x01\x18\x01\x20\x01\x90\x03\x01", 11);
    ImageReader reader(Bytes::headerOf(ImageKind::Inventory).record("\x08\x02\x1a\x0b" + ids).file(),
                       ImageKind::Inventory, "inventory.img");
    CHECK_THAT(errorOf([&] { (void)reader.one<InventoryEntry>(); }), Contains("field 50 of task_kobj_ids_entry"));
}

TEST_CASE("a guarded control stack of aarch64, as CRIU 4.3 stores it, is refused", "[image]") {
    UserAarch64RegsEntry registers = USER_AARCH64_REGS_ENTRY__INIT;
    UserAarch64FpsimdContextEntry floating = USER_AARCH64_FPSIMD_CONTEXT_ENTRY__INIT;
    ThreadInfoAarch64 thread = THREAD_INFO_AARCH64__INIT;
    thread.gpregs = &registers;
    thread.fpsimd = &floating;
    std::string encoding(criu::encodedSize(thread.base), '\0');
    ::protobuf_c_message_pack(&thread.base, reinterpret_cast<std::uint8_t*>(encoding.data()));
    encoding += std::string("\x32\x04\x08\x01\x10\x01", 6);  // gcs {gcspr_el0: 1, features_enabled: 1}
    REQUIRE(encoding.size() < 128);
    ImageReader reader(Bytes::headerOf(ImageKind::Core)
                           .record("\x08\x03\x42" + std::string(1, static_cast<char>(encoding.size())) + encoding)
                           .file(),
                       ImageKind::Core, "core-7.img");
    CHECK_THAT(errorOf([&] { (void)reader.one<CoreEntry>(); }),
               Contains("core-7.img") && Contains("field 6 of thread_info_aarch64"));
}

TEST_CASE("with --allow-loss=image-fields, an unknown field is a warning, once for each file", "[image]") {
    const criu::test::TemporaryDir place;
    criu::Log log;
    log.open(place.path() + "/log");
    const std::string entry("\x08\x01\x10\x00\x18\x01\x20\x01\x98\x06\x07", 11);
    const Bytes bytes = Bytes::headerOf(ImageKind::Pstree).record(entry).record(entry);
    ImageReader accepting(bytes.file(), ImageKind::Pstree, "pstree.img", ImageVersion::V1_1, &log);
    CHECK(accepting.all<PstreeEntry>().size() == 2);
    CHECK(log.warnings().count == 1);
    CHECK(log.warnings().losses == std::uint64_t{1} << static_cast<unsigned>(criu::Loss::ImageFields));
    criu::LossSet refused;
    log.refuseLosses(refused.set(static_cast<std::size_t>(criu::Loss::ImageFields)));
    ImageReader refusing(bytes.file(), ImageKind::Pstree, "pstree.img", ImageVersion::V1_1, &log);
    CHECK_THAT(errorOf([&] { (void)refusing.all<PstreeEntry>(); }), Contains("--allow-loss=image-fields"));
}

namespace {

/// Returns the error of reading one record of cgroup.img from a directory whose author isn't trusted.
std::string errorOfCanonical(std::string_view encoding, bool canonical = true) {
    ImageReader reader(Bytes::headerOf(ImageKind::Cgroup).record(encoding).file(), ImageKind::Cgroup, "cgroup.img");
    if (canonical)
        reader.requireCanonical();
    return errorOf([&] { (void)reader.next<CgroupEntry>(); });
}

}  // namespace

TEST_CASE("an untrusted record must be in canonical form") {
    using namespace std::string_view_literals;
    // cgroup_entry: 1 is repeated cg_set_entry {1: id, 2: repeated cg_member_entry}, 2 is repeated controllers.
    CHECK(errorOfCanonical("\x0a\x02\x08\x01\x0a\x02\x08\x02"sv).empty());
    const std::pair<std::string_view, std::string_view> refused[] = {
        {"a number that isn't the shortest", "\x0a\x03\x08\x81\x00"sv},
        {"a field that isn't repeated comes twice", "\x0a\x04\x08\x01\x08\x02"sv},
        {"a tag that isn't the shortest", "\x8a\x00\x02\x08\x01"sv},
        {"a length that isn't the shortest", "\x0a\x82\x00\x08\x01"sv},
    };
    for (const auto& [what, encoding] : refused) {
        INFO(what);
        CHECK_THAT(errorOfCanonical(encoding), Contains("isn't in canonical form") && Contains("--untrusted"));
        CHECK_THAT(errorOfCanonical(encoding, false), !Contains("canonical"));
    }
    const std::pair<std::string_view, std::string_view> malformed[] = {
        {"a wrong wire type", "\x08\x01"sv},
        {"an unknown wire type", "\x0f\x01"sv},
        {"a length that exceeds the message", "\x0a\x7f\x08"sv},
        {"an incomplete number", "\x0a\x01\x08"sv},
        {"a number of eleven bytes", "\x0a\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv},
    };
    for (const auto& [what, encoding] : malformed) {
        INFO(what);
        CHECK_THAT(errorOfCanonical(encoding), Contains("isn't in canonical form"));
        CHECK_THAT(errorOfCanonical(encoding, false), Contains("are not a valid"));
    }
}

TEST_CASE("an untrusted record has fields in ascending order, and lists of numbers in both forms") {
    using namespace std::string_view_literals;
    const auto errorOfPstree = [](std::string_view encoding) {
        ImageReader reader(Bytes::headerOf(ImageKind::Pstree).record(encoding).file(), ImageKind::Pstree, "pstree.img");
        reader.requireCanonical();
        return errorOf([&] { (void)reader.next<PstreeEntry>(); });
    };
    // 1 to 4: numbers, 5: repeated threads
    constexpr std::string_view kNumbers = "\x08\x01\x10\x00\x18\x01\x20\x01"sv;
    const auto with = [&](std::string_view threads) { return std::string(kNumbers) + std::string(threads); };
    CHECK(errorOfPstree(with("\x28\x01\x28\x02"sv)).empty());
    CHECK(errorOfPstree(with("\x2a\x02\x01\x02"sv)).empty());
    CHECK_THAT(errorOfPstree(with("\x2a\x02\x01\x82"sv)), Contains("canonical form at field 5"));
    CHECK_THAT(errorOfPstree("\x10\x00\x08\x01\x18\x01\x20\x01"sv), Contains("canonical form at field 1"));
}

TEST_CASE("images that criu writes are in canonical form") {
    const criu::test::TemporaryDir place;
    criu::ImageDir images = place.images();
    images.distrust();
    {
        auto writer = images.create(ImageKind::Pstree);
        std::uint32_t threads[] = {7, 300, 70'000};
        PstreeEntry entry = process(7);
        entry.n_threads = std::size(threads);
        entry.threads = threads;
        writer.write(entry);
        writer.finish();
    }
    CHECK(images.openRequired(ImageKind::Pstree).only<PstreeEntry>()->threads[2] == 70'000);
}
