// SPDX-License-Identifier: GPL-2.0-only
// Converts mappings from the kernel's text to image entries. Expected values are those of CRIU 4.2 for a process with
// these mappings.
#include <fcntl.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>

#include "criu/memory/mappings/mapping_kind.hpp"
#include "criu/memory/mappings/vma_dump.hpp"
#include "image_fixture.hpp"

using namespace criu;
using namespace criu::memory;
using kernel::Vma;

namespace {

/// Files numbered in the order of queries. A name with "/dev/" isn't a plain file, except for /dev/zero.
class FakeFiles final : public MappedFileDump {
public:
    FileId fileFor(const Vma& vma) override {
        asked.push_back("file " + vma.name);
        return FileId{++last_};
    }
    FileId segmentFor(const Vma& vma) override {
        asked.push_back("segment " + vma.name);
        return FileId{++last_};
    }
    int accessOf(const Vma& vma) override { return readOnly ? O_RDONLY : vma.prot & PROT_WRITE ? O_RDWR : O_RDONLY; }
    bool isPlain(const Vma& vma) override { return !vma.name.starts_with("/dev/") || vma.name == "/dev/zero"; }
    bool claimsDevice(const Vma& vma, FileId& file) override {
        if (vma.name != "/dev/claimed")
            return false;
        file = FileId{77};
        return true;
    }

    std::vector<std::string> asked;
    bool readOnly = false;

private:
    std::uint32_t last_ = 0;
};

struct Converted {
    explicit Converted(std::string_view smaps, bool allowUprobes = false) : vmas(kernel::parseMaps(smaps)) {
        VmaDumpRules rules;
        rules.shmemMinor = 1;
        rules.allowUprobes = allowUprobes;
        memory = dumpVmas(vmas, rules, files, arena);
    }
    [[nodiscard]] const VmaEntry& operator[](std::size_t at) const { return *memory.vmas.at(at).entry; }

    std::vector<Vma> vmas;
    FakeFiles files;
    Arena arena;
    DumpedMemory memory;
};

std::string refusalOf(std::string_view smaps) {
    return test::errorOf([&] { Converted converted(smaps); });
}

}  // namespace

TEST_CASE("private anonymous memory") {
    const Converted got(
        "10010000000-10010010000 rw-p 00000000 00:00 0 \n"
        "VmFlags: rd wr mr mw me ac \n"
        "55b1037b7000-55b103808000 rw-p 00000000 00:00 0                          [heap]\n"
        "VmFlags: rd wr mr mw me ac \n"
        "7ffc32541000-7ffc32562000 rw-p 00000000 00:00 0                          [stack]\n"
        "VmFlags: rd wr mr mw me gd ac \n");
    REQUIRE(got.memory.vmas.size() == 3);
    CHECK(got[0].start == 0x10010000000);
    CHECK(got[0].end == 0x10010010000);
    CHECK(got[0].prot == (PROT_READ | PROT_WRITE));
    CHECK(got[0].flags == (MAP_PRIVATE | MAP_ANONYMOUS));
    CHECK(got[0].status == 513);
    CHECK(got[0].shmid == 0);
    CHECK(got[0].fd == -1);
    CHECK(got[0].has_madv == 0);
    CHECK(got[0].has_fdflags == 0);
    CHECK(got[1].status == 545);
    CHECK(got[2].status == 513);
    CHECK(got[2].flags == 290);
    CHECK(got.files.asked.empty());
}

TEST_CASE("entries of maps with the data of smaps added later are equal to entries of smaps") {
    const std::string_view text =
        "10010000000-10010010000 rw-p 00000000 00:00 0 \nRss: 64 kB\nShared_Dirty: 4 kB\nSwap: 0 kB\n"
        "VmFlags: rd wr mr mw me ac sr hg dd sl nr \n"
        "20010000000-20010010000 rw-p 00000000 00:00 0 \nRss: 64 kB\nShared_Dirty: 0 kB\nSwap: 4 kB\n"
        "VmFlags: rd wr mr mw me ac mg nh rr \n"
        "30010000000-30010010000 rw-p 00000000 00:00 0 \nRss: 64 kB\nShared_Dirty: 0 kB\nSwap: 0 kB\n"
        "VmFlags: rd wr mr mw me ac \n"
        "40010000000-40010010000 r--s 00000000 08:01 12 /a/file\nRss: 0 kB\nVmFlags: rd mr me ms sr \n"
        "7ffc32541000-7ffc32562000 rw-p 00000000 00:00 0                          [stack]\n"
        "VmFlags: rd wr mr mw me gd ac \n"
        "7ffc32600000-7ffc32604000 r--p 00000000 00:00 0                          [vvar]\nVmFlags: rd mr pf io de dd "
        "\n";
    const Converted whole(text);
    std::string maps;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = text.find('\n', from) + 1;
        if (text.substr(from, end - from).find('-') != std::string_view::npos)
            maps += text.substr(from, end - from);
        from = end;
    }
    Converted late(maps);
    REQUIRE(late.memory.vmas.size() == whole.memory.vmas.size());
    for (std::size_t at = 0; at < late.vmas.size(); ++at)
        late.vmas[at] = whole.vmas[at];
    addSmaps(late.memory);
    for (std::size_t at = 0; at < late.memory.vmas.size(); ++at) {
        CAPTURE(at);
        CHECK(late[at].flags == whole[at].flags);
        CHECK(late[at].prot == whole[at].prot);
        CHECK(late[at].status == whole[at].status);
        CHECK(late[at].has_madv == whole[at].has_madv);
        CHECK(late[at].madv == whole[at].madv);
        CHECK(late[at].has_exclusive == whole[at].has_exclusive);
        CHECK(late[at].exclusive == whole[at].exclusive);
        CHECK(late[at].has_sealed == whole[at].has_sealed);
    }
}

TEST_CASE("smaps that shows a mapping of another kind than maps is refused") {
    for (const std::string_view flags :
         {"rd wr mr mw me um", "rd wr mr mw me uw", "rd wr mr mw me ht", "rd wr pf io"}) {
        CAPTURE(flags);
        Converted late("10010000000-10010010000 rw-p 00000000 00:00 0 \n");
        late.vmas =
            kernel::parseMaps(fmt::format("10010000000-10010010000 rw-p 00000000 00:00 0 \nVmFlags: {} \n", flags));
        late.memory.vmas[0].source = late.vmas.data();
        CHECK_THROWS_AS(addSmaps(late.memory), Error);
    }
}

TEST_CASE("code whose indirect jumps need landing pads") {
    const Converted got(
        "10010000000-10010010000 r-xp 00000000 00:00 0 \n"
        "VmFlags: rd ex mr mw me bt ac \n");
    CHECK(got[0].prot == (PROT_READ | PROT_EXEC | 0x10));  // PROT_BTI
}

TEST_CASE("memory of which no other process has a page is exclusive") {
    const auto mapping = [](std::string_view fields) {
        return fmt::format(
            "10010000000-10010010000 rw-p 00000000 00:00 0 \nRss: 64 kB\n{}VmFlags: rd wr mr mw me ac \n", fields);
    };
    CHECK(
        Converted(mapping("Shared_Clean: 0 kB\nShared_Dirty: 0 kB\nPrivate_Dirty: 64 kB\nSwap: 0 kB\n"))[0].exclusive ==
        1);
    CHECK(
        Converted(mapping("Shared_Clean: 0 kB\nShared_Dirty: 4 kB\nPrivate_Dirty: 60 kB\nSwap: 0 kB\n"))[0].exclusive ==
        0);
    CHECK(
        Converted(mapping("Shared_Clean: 4 kB\nShared_Dirty: 0 kB\nPrivate_Dirty: 60 kB\nSwap: 0 kB\n"))[0].exclusive ==
        0);
    CHECK(
        Converted(mapping("Shared_Clean: 0 kB\nShared_Dirty: 0 kB\nPrivate_Dirty: 60 kB\nSwap: 4 kB\n"))[0].exclusive ==
        0);
    CHECK(Converted("10010000000-10010200000 rw-p 00000000 00:10 3  /anon_hugepage (deleted)\n"
                    "VmFlags: rd wr mr mw me ht \n")[0]
              .exclusive == 0);
    // Other processes may have pages of a file; the kernel doesn't count its copied pages separately.
    CHECK(Converted("10010000000-10010010000 rw-p 00000000 08:01 3  /usr/lib/library.so\nVmFlags: rd wr mr mw me \n")[0]
              .exclusive == 0);
}

TEST_CASE("flags and advice come from VmFlags") {
    struct Case {
        const char* flags;
        std::uint32_t mapFlags;
        std::uint64_t advice;
    };
    const Case cases[] = {
        {"rd wr mr mw me lo ac", 8226, 0},
        {"rd wr mr mw me nr", 16418, 0},
        {"rd wr mr mw me gd ac", 290, 0},
        {"rd wr mr mw me ac dd", 34, 65536},
        {"rd wr mr mw me dc ac", 34, 1024},
        {"rd wr mr mw me ac hg", 34, 16384},
        {"rd wr mr mw me ac nh", 34, 32768},
        {"rd wr mr mw me sr ac", 34, 4},
        {"rd wr mr mw me rr ac", 34, 2},
        {"rd wr mr mw me ac mg", 34, 4096},
        {"rd wr mr mw me ac wf", 34, 262144},
        {"rd wr mr mw me ac sd", 34, 0},
        {"rd wr mr mw me nr wf dd dp", 16424, 327680},
    };
    for (const Case& wanted : cases) {
        INFO(wanted.flags);
        const Converted got(std::string("10010000000-10010010000 rw-p 00000000 00:00 0 \nVmFlags: ") + wanted.flags +
                            " \n");
        CHECK(got[0].flags == wanted.mapFlags);
        CHECK(got[0].madv == wanted.advice);
        CHECK((got[0].has_madv != 0) == (wanted.advice != 0));
    }
}

TEST_CASE("mapped files: one entry per file, access by mapping") {
    const Converted got(
        "10090000000-10090010000 rw-s 00002000 fe:00 10960961   /tmp/file 1\n"
        "VmFlags: rd wr sh mr mw me ms \n"
        "100a0000000-100a0010000 r-xp 00003000 fe:00 10960961   /tmp/file 1\n"
        "VmFlags: rd ex mr mw me \n"
        "100b0000000-100b0010000 rw-p 00000000 fe:00 10960977   /tmp/file2 (deleted)\n"
        "VmFlags: rd wr mr mw me ac \n"
        "10210000000-10210004000 rw-p 00000000 00:06 4          /dev/zero\n"
        "VmFlags: rd wr mr mw me ac \n");
    CHECK(got[0].status == 129);
    CHECK(got[0].flags == MAP_SHARED);
    CHECK(got[0].pgoff == 0x2000);
    CHECK(got[0].shmid == 1);
    CHECK(got[0].has_fdflags != 0);
    CHECK(got[0].fdflags == O_RDWR);
    CHECK(got[1].status == 65);
    CHECK(got[1].flags == MAP_PRIVATE);
    CHECK(got[1].shmid == 1);
    CHECK(got[1].has_fdflags != 0);
    CHECK(got[1].fdflags == O_RDONLY);
    CHECK(got[2].shmid == 2);
    CHECK(got[3].status == 65);
    CHECK(got[3].shmid == 3);
    CHECK(got.files.asked ==
          std::vector<std::string>{"file /tmp/file 1", "file /tmp/file2 (deleted)", "file /dev/zero"});
}

TEST_CASE("shared memory and memfds are segments") {
    const Converted got(
        "10020000000-10020004000 rw-s 00000000 00:01 918        /dev/zero (deleted)\n"
        "VmFlags: rd wr sh mr mw me ms \n"
        "10020008000-10020010000 rw-s 00008000 00:01 918        /dev/zero (deleted)\n"
        "VmFlags: rd wr sh mr mw me ms \n"
        "10040000000-10040008000 rw-p 00001000 00:01 919        /memfd:hello (deleted)\n"
        "VmFlags: rd wr mr mw me ac \n"
        "10050000000-10050008000 rw-s 00000000 00:01 920        [anon_shmem:name]\n"
        "VmFlags: rd wr sh mr mw me ms \n");
    CHECK(got[0].status == 16513);
    CHECK(got[0].flags == MAP_SHARED);
    CHECK(got[0].shmid == 1);
    CHECK(got[1].shmid == 1);
    CHECK(got[1].pgoff == 32768);
    CHECK(got[2].status == 16449);
    CHECK(got[2].flags == MAP_PRIVATE);
    CHECK(got[2].shmid == 2);
    CHECK(got[3].status == 16513);
    CHECK(got[3].shmid == 3);
    CHECK(got.files.asked.size() == 3);
}

TEST_CASE("a file of a tmpfs that only looks like a memfd is a file") {
    const Converted got(
        "10040000000-10040008000 rw-s 00001000 00:1a 919        /memfd:hello (deleted)\n"
        "VmFlags: rd wr sh mr mw me ms \n");
    CHECK(got[0].status == 129);
    CHECK(got.files.asked == std::vector<std::string>{"file /memfd:hello (deleted)"});
}

TEST_CASE("huge pages") {
    const Converted got(
        "101e0000000-101e0600000 rw-p 00000000 00:11 612758     /anon_hugepage (deleted)\n"
        "KernelPageSize:     2048 kB\nVmFlags: rd wr mr mw me de ht \n"
        "101f0000000-101f0600000 rw-s 00000000 00:11 612759     /anon_hugepage (deleted)\n"
        "KernelPageSize:     2048 kB\nVmFlags: rd wr sh mr mw me ms de ht \n"
        "10200000000-10200400000 rw-s 00000000 00:11 612760     /memfd:huge (deleted)\n"
        "KernelPageSize:     2048 kB\nVmFlags: rd wr sh mr mw me ms de ht \n"
        "10210000000-10210400000 rw-s 00000000 00:2f 5          /mnt/huge/file\n"
        "KernelPageSize:     2048 kB\nVmFlags: rd wr sh mr mw me ms de ht \n");
    CHECK(got[0].status == 513);
    CHECK(got[0].flags == 1409548322);
    CHECK(got[0].shmid == 0);
    CHECK(got[0].has_fdflags != 0);
    CHECK(got[1].status == 16513);
    CHECK(got[1].flags == 1409548289);
    CHECK(got[2].status == 16513);
    CHECK(got[2].flags == 1409548289);
    CHECK(got[3].status == 129);
    CHECK(got[3].flags == (MAP_SHARED | MAP_HUGETLB));
}

TEST_CASE("the kernel's own mappings") {
    const Converted got(
        "7f04e54df000-7f04e54e3000 r--p 00000000 00:00 0        [vvar]\n"
        "VmFlags: rd mr pf io de dd \n"
        "7f04e54e3000-7f04e54e5000 r--p 00000000 00:00 0        [vvar_vclock]\n"
        "VmFlags: rd mr pf io de dd \n"
        "7f04e54e5000-7f04e54e7000 r-xp 00000000 00:00 0        [vdso]\n"
        "VmFlags: rd ex mr mw me de \n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"
        "VmFlags: ex \n");
    REQUIRE(got.memory.vmas.size() == 3);
    CHECK(got[0].start == 0x7f04e54df000);
    CHECK(got[0].end == 0x7f04e54e5000);
    CHECK(got[0].status == 4609);
    CHECK(got[0].flags == 34);
    CHECK(got[0].prot == PROT_READ);
    CHECK(got[0].madv == 65536);
    CHECK(got[1].status == 521);
    CHECK(got[1].flags == 34);
    CHECK(got[1].has_madv == 0);
    CHECK(got[2].status == 516);
    CHECK(got[2].prot == PROT_EXEC);
    CHECK(got[2].start == 0xffffffffff600000);
}

TEST_CASE("data pages of the vDSO that don't touch stay apart") {
    const Converted got(
        "7f0000000000-7f0000004000 r--p 00000000 00:00 0        [vvar]\nVmFlags: rd mr pf io de dd \n"
        "7f0000005000-7f0000006000 r--p 00000000 00:00 0        [vvar_vclock]\nVmFlags: rd mr pf io de dd \n");
    CHECK(got.memory.vmas.size() == 2);
}

TEST_CASE("uprobes are left out, if allowed") {
    const char* const text =
        "7fffffffe000-7ffffffff000 --xp 00000000 00:00 0     [uprobes]\nVmFlags: ex mr me io de \n";
    const Converted got(text, true);
    CHECK(got.memory.vmas.empty());
    CHECK(got.memory.uprobes);
    CHECK_THAT(refusalOf(text), Catch::Contains("0x7fffffffe000") && Catch::Contains("--allow-uprobes"));
}

TEST_CASE("what can't be dumped is refused by address and name") {
    const auto refused = [](std::string_view place, std::string_view flags) {
        return refusalOf(fmt::format("10010000000-10010010000 rw-s 00000000 {}\nVmFlags: {} \n", place, flags));
    };
    using Catch::Contains;
    CHECK_THAT(refused("00:06 12 /dev/mem", "rd wr sh mr mw me ms pf io de dd"),
               Contains("memory at 0x10010000000 maps") && Contains("/dev/mem") && Contains("can't be dumped"));
    CHECK_THAT(refused("00:06 12 /dev/other", "rd wr sh mr mw me ms"), Contains("/dev/other"));
    CHECK_THAT(refused("00:09 12 socket:[1234]", "rd wr sh"), Contains("packet socket"));
    CHECK_THAT(refused("00:0f 12 anon_inode:[io_uring]", "rd wr sh"), Contains("io_uring"));
    CHECK_THAT(refused("00:00 0", "rd wr mr mw me um"), Contains("userfaultfd"));
    CHECK_THAT(refused("00:00 0", "rd wr mr mw me uw"), Contains("userfaultfd"));
    CHECK_THAT(refused("00:00 0", "rd wr mr mw me ss"), Contains("shadow stack"));
    CHECK_THAT(refused("00:00 0", "rd wr mr mw me pf io"), Contains("device"));
}

TEST_CASE("attached System V shared memory") {
    const Converted got(
        "10010000000-10010002000 rw-s 00000000 00:01 12 /SYSV00000000 (deleted)\nVmFlags: rd wr sh mr mw \n");
    CHECK(got[0].status == (VmaStatus::Regular | VmaStatus::AnonShared | bit(VmaStatus::SysvIpc)));
    CHECK(got[0].shmid == 12);
    const Converted huge(
        "10010000000-10010200000 rw-s 00000000 00:0f 13 /SYSV00000000 (deleted)\nKernelPageSize:     2048 kB\n"
        "VmFlags: rd wr sh mr mw ht \n");
    CHECK(huge[0].status == (VmaStatus::Regular | VmaStatus::AnonShared | bit(VmaStatus::SysvIpc)));
    CHECK((huge[0].flags & MAP_HUGETLB) != 0);
    CHECK(huge[0].flags >> 26 == 21);
    CHECK(huge[0].shmid == 13);
}

TEST_CASE("a ring of asynchronous I/O") {
    const Converted got(
        "10010000000-10010002000 rw-s 00000000 00:0e 12 /[aio] (deleted)\nVmFlags: rd wr sh mr mw ms de \n");
    CHECK(got[0].status == bit(VmaStatus::AioRing));
    CHECK(got[0].flags == MAP_SHARED);
}

TEST_CASE("device memory that a subsystem claims") {
    const Converted got(
        "10010000000-10010010000 rw-s 00010000 00:06 12 /dev/claimed\n"
        "VmFlags: rd wr sh mr mw me ms pf io de dd \n");
    CHECK(got[0].status == (VmaStatus::Regular | VmaStatus::FileShared | bit(VmaStatus::Plugin)));
    CHECK(got[0].shmid == 77);
    CHECK(got[0].pgoff == 0x10000);
}

TEST_CASE(
    "a private file with the name of the kernel's huge pages is a file, and only private huge pages are anonymous") {
    Vma vma;
    vma.name = "/anon_hugepage (deleted)";
    CHECK_FALSE(isAnonymousHuge(vma));
    vma.flags.set(kernel::VmFlag::HugeTlb);
    CHECK(isAnonymousHuge(vma));
    vma.shared = true;
    CHECK_FALSE(isAnonymousHuge(vma));
    vma.shared = false;
    vma.name = "/file";
    CHECK_FALSE(isAnonymousHuge(vma));
}
