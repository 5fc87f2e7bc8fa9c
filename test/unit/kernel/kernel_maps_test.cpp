// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/maps.hpp"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/proc/mountinfo.hpp"

using namespace criu::kernel;

TEST_CASE("maps: each column, and names with blanks, newlines and \" (deleted)\"") {
    const auto vmas = parseMaps(
        "00400000-00452000 r-xp 00001000 fe:00 173521                             /usr/bin/dbus daemon\n"
        "7f0000000000-7f0000001000 rw-s 100000000 00:05 18446744073709551615      /dev/zero\\012x (deleted)\n"
        "7f0000001000-7f0000002000 ---p 00000000 00:00 0 \n"
        "7ffc0000-7ffd0000 rw-p 00000000 00:00 0                                  [anon: my name]\n"
        "8000000000-8000001000 -w-p 00000000 103:fffff 7                          /a\\040b\\134\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
    REQUIRE(vmas.size() == 6);
    CHECK(vmas[0].start == 0x400000);
    CHECK(vmas[0].end == 0x452000);
    CHECK(vmas[0].size() == 0x52000);
    CHECK(vmas[0].prot == (PROT_READ | PROT_EXEC));
    CHECK_FALSE(vmas[0].shared);
    CHECK_FALSE(vmas[0].deleted);
    CHECK(vmas[0].pgoff == 0x1000);
    CHECK(vmas[0].devMajor == 0xfe);
    CHECK(vmas[0].devMinor == 0);
    CHECK(vmas[0].inode == 173521);
    CHECK(vmas[0].name == "/usr/bin/dbus daemon");
    CHECK(vmas[1].shared);
    CHECK(vmas[1].deleted);
    CHECK(vmas[1].pgoff == 0x100000000);
    CHECK(vmas[1].inode == UINT64_MAX);
    CHECK(vmas[1].name == "/dev/zero\nx (deleted)");
    CHECK(vmas[2].prot == PROT_NONE);
    CHECK(vmas[2].name.empty());
    CHECK(vmas[3].name == "[anon: my name]");
    CHECK(vmas[4].devMajor == 0x103);
    CHECK(vmas[4].devMinor == 0xfffff);
    CHECK(vmas[4].name == "/a\\040b\\134");  // not escapes: in this file the kernel escapes newlines only
    CHECK(vmas[5].end == 0xffffffffff601000);
    CHECK(vmas[5].name == "[vsyscall]");
}

TEST_CASE("maps: private mappings without a file are anonymous, the kernel's own areas aren't") {
    const auto vmas = parseMaps(
        "00400000-00401000 rw-p 00000000 00:00 0 \n"
        "00401000-00402000 rw-p 00000000 00:00 0                                  [heap]\n"
        "00402000-00403000 rw-p 00000000 00:00 0                                  [stack]\n"
        "00403000-00404000 rw-p 00000000 00:00 0                                  [anon: my name]\n"
        "00404000-00405000 rw-s 00000000 00:01 7                                  /dev/zero (deleted)\n"
        "00405000-00406000 rw-p 00000000 00:05 4                                  /dev/zero\n"
        "00406000-00407000 rw-p 00000000 fe:00 8                                  /usr/lib/x\n"
        "00407000-00408000 r--p 00000000 00:00 0                                  [vvar]\n"
        "00408000-00409000 r-xp 00000000 00:00 0                                  [vdso]\n"
        "00409000-0040a000 rw-s 00000000 00:00 0                                  [anon_shmem:x]\n"
        "0040a000-0040b000 rw-p 00000000 00:00 9 \n");
    REQUIRE(vmas.size() == 11);
    for (std::size_t i = 0; i < vmas.size(); ++i) {
        CAPTURE(i);
        CHECK(isAnonymous(vmas[i]) == (i < 4));
    }
}

TEST_CASE("maps: the file systems that files are mapped of, each once with its first mapping") {
    const auto mapped = parseMappedFileSystems(
        "00400000-00452000 r-xp 00001000 fe:00 173521                             /usr/bin/dbus daemon\n"
        "00452000-00453000 r--p 00053000 fe:00 173521                             /usr/bin/dbus daemon\n"
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
        "7f0000001000-7f0000002000 rw-s 00000000 00:2a 7                          /mnt/a 00:2b 7\n"
        "7f0000002000-7f0000003000 r--p 00000000 fe:00 8                          /usr/lib/x\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
    REQUIRE(mapped.size() == 2);
    CHECK(mapped[0].device == makedev(0xfe, 0));
    CHECK(mapped[0].start == 0x400000);
    CHECK(mapped[0].end == 0x452000);
    CHECK(mapped[1].device == makedev(0, 0x2a));
    CHECK(mapped[1].start == 0x7f0000001000);
    CHECK(parseMappedFileSystems("").empty());
    CHECK_THROWS_AS(parseMappedFileSystems("00400000-00452000 r-xp 00001000 fe 1 /x\n"), criu::Error);
    CHECK_THROWS_AS(parseMappedFileSystems("00400000 r-xp 00001000 fe:00 1 /x\n"), criu::Error);
}

TEST_CASE("smaps: sizes in bytes, flags by mnemonic, unknown ones noted") {
    const auto vmas = parseMaps(
        "a000-b000 rw-p 00000000 00:00 0 \n"
        "Size:                  4 kB\n"
        "KernelPageSize:        4 kB\n"
        "Rss:                   8 kB\n"
        "Shared_Clean:         24 kB\n"
        "Shared_Dirty:         28 kB\n"
        "Anonymous:            12 kB\n"
        "Swap:                 16 kB\n"
        "SwapPss:              99 kB\n"
        "Locked:               20 kB\n"
        "THPeligible:           0\n"
        "ProtectionKey:         0\n"
        "VmFlags: rd wr mr mw me ac lo gd dd nh sl \n"
        "b000-c000 r--p 00000000 00:00 0 \n"
        "Rss:                   0 kB\n"
        "VmFlags: rd zz xyz ht dp ss wf\n");
    REQUIRE(vmas.size() == 2);
    CHECK(vmas[0].kernelPageSize == 4096);
    CHECK(vmas[0].rss == 8192);
    CHECK(vmas[0].inCommon == 52 * 1024);
    CHECK(vmas[0].anonymous == 12288);
    CHECK(vmas[0].swap == 16384);
    CHECK(vmas[0].privateBytes() == 28672);
    CHECK(vmas[0].locked == 20480);
    CHECK(vmas[0].flags == VmFlags{VmFlag::Read, VmFlag::Write, VmFlag::MayRead, VmFlag::MayWrite, VmFlag::MayExec,
                                   VmFlag::Accountable, VmFlag::Locked, VmFlag::GrowsDown, VmFlag::DontDump,
                                   VmFlag::NoHugePage, VmFlag::Sealed});
    CHECK(vmas[1].rss == 0);
    CHECK(vmas[1].flags == VmFlags{VmFlag::Read, VmFlag::Unknown, VmFlag::HugeTlb, VmFlag::Droppable,
                                   VmFlag::ShadowStack, VmFlag::WipeOnFork});
}

TEST_CASE("smaps: a mnemonic for each flag") {
    const auto vmas = parseMaps(
        "a000-b000 rw-p 00000000 00:00 0 \n"
        "VmFlags: rd wr ex sh mr mw me ms gd pf dw lo io sr rr dc de lf ac nr ht sf nl ar wf dd sd mm hg nh mg mt um "
        "uw ui "
        "ss sl dp bt gu\n"
        "b000-c000 rw-p 00000000 00:00 0 \n"
        "VmFlags: io pf gu mt r1 {{ RD\n");
    REQUIRE(vmas.size() == 2);
    for (unsigned flag = 0; flag < static_cast<unsigned>(VmFlag::Unknown); ++flag)
        CHECK(vmas[0].flags.has(static_cast<VmFlag>(flag)));
    CHECK_FALSE(vmas[0].flags.has(VmFlag::Unknown));
    CHECK(vmas[1].flags ==
          VmFlags{VmFlag::Io, VmFlag::PfnMap, VmFlag::MayHaveGuard, VmFlag::MemoryTagging, VmFlag::Unknown});
}

TEST_CASE("maps: malformed lines are refused") {
    for (const char* const text :
         {"400000\n", "400000-\n", "400000-401000\n", "400000-401000 rwx 0 0:0 0\n", "401000-400000 rwxp 0 0:0 0\n",
          "400000-401000 rwxp 0 0 0\n", "400000-11111111111111111 rwxp 0 0:0 0\n", "Rss: 4 kB\n",
          "a000-b000 rw-p 0 00:00 0\nRss: many\n", "a000-b000 rw-p 0 00:00 0\nno colon\n", "\n"})
        CHECK_THROWS_AS(parseMaps(text), criu::Error);
    CHECK(parseMaps("").empty());
}

TEST_CASE("maps: pieces may end behind any line") {
    const std::string one = "a000-b000 rw-p 00000000 00:00 0 \n";
    MapsParser parser;
    parser.feed(one);
    parser.feed("Rss: 4 kB\n");
    parser.feed("VmFlags: rd\nc000-d000 rw-p 00000000 00:00 0 ");
    const auto vmas = parser.take();
    REQUIRE(vmas.size() == 2);
    CHECK(vmas[0].rss == 4096);
    CHECK(vmas[0].flags.has(VmFlag::Read));
    CHECK(vmas[1].start == 0xc000);
}

TEST_CASE("pagemap entries: bits become categories") {
    const auto bit = [](unsigned number) { return std::uint64_t{1} << number; };
    CHECK(categoriesOfEntry(0, std::nullopt) == PageIs::None);
    CHECK(categoriesOfEntry(bit(63) | bit(57) | 5, 6) == PageIs::Present);
    CHECK(categoriesOfEntry(bit(63) | bit(57) | 5, 5) == (PageIs::Present | PageIs::PfnZero));
    CHECK(categoriesOfEntry(bit(62) | bit(57) | 5, 5) == PageIs::Swapped);
    CHECK(categoriesOfEntry(bit(63) | bit(61) | bit(57), {}) == (PageIs::Present | PageIs::File));
    CHECK(categoriesOfEntry(bit(62) | bit(58) | bit(57), {}) == (PageIs::Swapped | PageIs::Guard));
    CHECK(categoriesOfEntry(bit(63) | bit(55), {}) == (PageIs::Present | PageIs::SoftDirty | PageIs::Written));
}

TEST_CASE("mountinfo: columns, optional fields and escapes") {
    const MountTable table(parseMountInfo(
        "22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw\n"
        "36 35 98:4095 /mnt\\0401 /mnt/a\\011b\\134040\\043 ro,noatime shared:12 master:1 propagate_from:2 unbindable "
        "future:9 - fuse.sshfs  rw,errors=continue\n"
        "9 22 0:4 net:[4026531833] /run/n rw - nsfs nsfs rw"));
    REQUIRE(table.all().size() == 3);
    const MountInfo& proc = table.all()[0];
    CHECK(proc.id == 22);
    CHECK(proc.parentId == 27);
    CHECK(proc.devMajor == 0);
    CHECK(proc.devMinor == 21);
    CHECK(proc.mountPoint == "/proc");
    CHECK(proc.flags == (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME));
    CHECK(proc.shared == 5);
    CHECK(proc.master == 0);
    CHECK(proc.fsType == "proc");
    CHECK(proc.superOptions == "rw");
    const MountInfo& odd = table.all()[1];
    CHECK(odd.devMajor == 98);
    CHECK(odd.devMinor == 4095);
    CHECK(odd.root == "/mnt 1");
    CHECK(odd.mountPoint == "/mnt/a\tb\\040#");
    CHECK(odd.flags == (MS_RDONLY | MS_NOATIME));
    CHECK(odd.shared == 12);
    CHECK(odd.master == 1);
    CHECK(odd.propagateFrom == 2);
    CHECK(odd.unbindable);
    CHECK(odd.fsType == "fuse.sshfs");
    CHECK(hasServer(odd.fsType));
    CHECK(isRemoteFileSystem(odd.fsType));
    CHECK(isRemoteFileSystem("nfs4"));
    CHECK_FALSE(hasServer("nfs4"));
    CHECK_FALSE(isRemoteFileSystem("ext4"));
    CHECK(anyMountIs("1 2 0:3 / / rw - ext4 a rw\n4 1 0:5 / /m rw - 9p b rw\n", isRemoteFileSystem));
    CHECK_FALSE(anyMountIs("1 2 0:3 / / rw - ext4 a rw\n4 1 0:5 / /m rw - 9p b rw\n", hasServer));
    CHECK_FALSE(anyMountIs("1 2 0:3 / / rw -", isRemoteFileSystem));
    CHECK(odd.source.empty());
    CHECK(odd.superOptions == "rw,errors=continue");
    CHECK(table.find(9) == &table.all()[2]);
    CHECK(table.find(9)->root == "net:[4026531833]");
    CHECK(table.find(36) == &odd);
    CHECK(table.find(10) == nullptr);
    CHECK(table.find(-1) == nullptr);
}

TEST_CASE("mountinfo: cut lines are refused") {
    const std::string line = "22 27 0:21 / /proc rw shared:5 - proc proc ";
    CHECK(parseMountInfo(line).size() == 1);
    for (std::size_t length = 1; length < line.size(); ++length)
        CHECK_THROWS_AS(parseMountInfo(line.substr(0, length)), criu::Error);
    CHECK(parseMountInfo("").empty());
}
