// SPDX-License-Identifier: GPL-2.0-only
// Shared memory and memfds, dumped from a child and restored in this process.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include "../unit/image_fixture.hpp"
#include "child.hpp"
#include "criu/base/machine.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/memory/shmem/memfd_file.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/memory/shmem/segments_dump.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/process_tree.hpp"
#include "images/fdinfo.hpp"
#include "images/memfd.hpp"
#include "images/mm.hpp"

using namespace criu;
using namespace criu::memory;
using test::MemoryDump;
using test::pages;
using test::place;
using test::StoppedChild;

namespace {

constexpr unsigned kFutureWrite = 0x10;
constexpr int kFirstFd = 500;

char* mapShared(unsigned where, std::size_t size, int fd, int prot = PROT_READ | PROT_WRITE, int extra = 0) {
    const int flags = MAP_SHARED | MAP_FIXED_NOREPLACE | extra | (fd < 0 ? MAP_ANONYMOUS : 0);
    void* const at = ::mmap(reinterpret_cast<void*>(place(where)), size, prot, flags, fd, 0);
    if (at == MAP_FAILED)
        failErrno("map {:#x}", place(where));
    return static_cast<char*>(at);
}

/// Creates a memfd with a given number.
int makeMemfd(int number, const char* name, unsigned flags, std::size_t size) {
    const UniqueFd fd(sys(::memfd_create(name, flags), "make a memfd"));
    sys(::ftruncate(fd.get(), static_cast<off_t>(size)), "size");
    return sys(::dup2(fd.get(), number), "move");
}

/// Describes a descriptor of the child, like the engine.
files::OpenFd openFdOf(const StoppedChild& child, int number) {
    files::OpenFd file;
    file.pid = file.actor = HostPid(child.pid());
    file.fd = number;
    const std::string path = fmt::format("/proc/{}/fd/{}", child.pid(), number);
    file.copy = UniqueFd(sys(::open(path.c_str(), O_RDWR | O_CLOEXEC), "open"));
    sys(::fstat(file.copy.get(), &file.stat), "stat");
    file.link = child.process().readLink(fmt::format("fd/{}", number));
    const std::string info = child.process().readFile(fmt::format("fdinfo/{}", number));
    file.info = kernel::parseFdInfo(info);
    return file;
}

/// Returns a tree with only the mappings of one process.
model::ProcessTree treeOf(const MemoryDump& dump, TreePid pid) {
    model::ProcessTree tree;
    auto task = std::make_unique<model::Task>();
    task->pid = pid;
    MmEntry mm = MM_ENTRY__INIT;
    Arena arena;
    dump.memory.fill(mm, arena);
    std::string bytes(encodedSize(mm.base), '\0');
    ::protobuf_c_message_pack(&mm.base, reinterpret_cast<std::uint8_t*>(bytes.data()));
    task->mm = decode<MmEntry>(test::bytesOf(bytes));
    tree.byPid[pid] = task.get();
    tree.tasks.push_back(std::move(task));
    return tree;
}

std::uint64_t inodeOf(const MemoryDump& dump, FileId id) {
    for (const FileEntry* entry : dump.files.entries)
        if (entry->id == id.value && entry->memfd != nullptr)
            return entry->memfd->inode_id;
    return 0;
}

const VmaEntry& entryAt(const MemoryDump& dump, unsigned where) {
    for (const DumpedVma& vma : dump.memory.vmas)
        if (vma.entry->start == place(where))
            return *vma.entry;
    fail("nothing is mapped at {:#x}", place(where));
}

FileId fileAt(const MemoryDump& dump, unsigned where) {
    return FileId{static_cast<std::uint32_t>(entryAt(dump, where).shmid)};
}

std::string contentOfFd(int fd) {
    std::string content(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '?');
    std::size_t done = 0;
    while (done < content.size())
        done += static_cast<std::size_t>(
            sys(::pread(fd, content.data() + done, content.size() - done, static_cast<off_t>(done)), "read"));
    return content;
}

std::string linkOf(int fd) {
    return kernel::ProcDir().self().readLink(fmt::format("fd/{}", fd));
}

struct Scene {
    explicit Scene(const std::function<void()>& prepare)
        : child(prepare), images(dir.images()), dump(child.pid(), images, drainer) {}

    void write() { result = dump.segments.write(images, dump.pages, criu::model::IdMap(), drainer); }

    void restore() {
        restored.collect(treeOf(dump, TreePid(child.pid())), images, sources,
                         [&](FileId id) { return inodeOf(dump, id); });
        criu::kernel::FdStore store;
        store.reserve(700, 800);
        restored.create(criu::model::IdMap(), store);
        restored.fill({}, {});
    }
    [[nodiscard]] int fdFor(unsigned where) const { return restored.descriptorFor(entryAt(dump, where)); }

    test::TemporaryDir dir;
    StoppedChild child;
    ImageDir images;
    Drainer drainer;
    MemoryDump dump;
    SegmentsDumpResult result;
    FilePageSources sources{images};
    Segments restored;
};

}  // namespace

TEST_CASE("shared anonymous memory, also a part that is no longer mapped") {
    Scene scene([] {
        char* const at = mapShared(0, pages(16), -1);
        std::memset(at, 'a', pages(3));
        at[pages(6)] = 'b';
        at[pages(12)] = 'c';
        ::munmap(at + pages(4), pages(4));
    });
    scene.write();
    CHECK(scene.result.pagesScanned == 16);
    CHECK(scene.result.pagesWritten == 5);
    scene.restore();
    const std::string content = contentOfFd(scene.fdFor(0));
    std::string wanted(pages(16), '\0');
    std::fill_n(wanted.begin(), pages(3), 'a');
    wanted[pages(6)] = 'b';
    wanted[pages(12)] = 'c';
    CHECK(content == wanted);
    CHECK(linkOf(scene.fdFor(0)) == "/dev/zero (deleted)");
}

TEST_CASE("memfds: name, size, mode, seals, content") {
    Scene scene([] {
        const int odd = makeMemfd(kFirstFd, "odd size", MFD_ALLOW_SEALING, pages(10) + 100);
        mapShared(0, pages(8), odd)[pages(2)] = 'x';
        sys(::pwrite(odd, "tail", 4, static_cast<off_t>(pages(10) + 90)), "write");
        sys(::fchmod(odd, 0640), "mode");
        const int sealed = makeMemfd(kFirstFd + 1, "sealed", MFD_ALLOW_SEALING, pages(4));
        sys(::pwrite(sealed, "abc", 3, 5000), "write");
        sys(::fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK), "seal");
        mapShared(1, pages(4), sealed, PROT_READ);
        const int future = makeMemfd(kFirstFd + 2, "future", MFD_ALLOW_SEALING, pages(4));
        mapShared(2, pages(4), future)[1] = 'f';
        sys(::fcntl(future, F_ADD_SEALS, kFutureWrite), "seal");
        const int plain = makeMemfd(kFirstFd + 3, "gone", 0, pages(2));
        mapShared(3, pages(2), plain)[0] = 'g';
        ::close(plain);
        makeMemfd(kFirstFd + 4, "empty", 0, 0);
    });
    const auto empty = openFdOf(scene.child, kFirstFd + 4);
    REQUIRE(scene.dump.segments.claims(empty));
    const std::uint32_t emptyInode = scene.dump.segments.inodeFor(empty, scene.images);
    CHECK(scene.dump.segments.inodeFor(openFdOf(scene.child, kFirstFd), scene.images) ==
          inodeOf(scene.dump, fileAt(scene.dump, 0)));
    scene.write();
    scene.restore();

    const std::string odd = contentOfFd(scene.fdFor(0));
    CHECK(odd.size() == pages(10) + 100);
    CHECK(odd[pages(2)] == 'x');
    CHECK(odd.substr(pages(10) + 90, 4) == "tail");
    CHECK(linkOf(scene.fdFor(0)) == "/memfd:odd size (deleted)");
    struct stat status {};
    REQUIRE(::fstat(scene.fdFor(0), &status) == 0);
    CHECK((status.st_mode & 07777) == 0640);
    CHECK(::fcntl(scene.fdFor(0), F_GET_SEALS) == 0);

    CHECK(contentOfFd(scene.fdFor(1)).substr(5000, 3) == "abc");
    CHECK(::fcntl(scene.fdFor(1), F_GET_SEALS) == (F_SEAL_WRITE | F_SEAL_SHRINK));

    // A process that had it mapped may write, and must be able to map it again.
    CHECK(::fcntl(scene.fdFor(2), F_GET_SEALS) == 0);
    scene.restored.finish();
    CHECK(::fcntl(scene.fdFor(2), F_GET_SEALS) == static_cast<int>(kFutureWrite));
    CHECK(contentOfFd(scene.fdFor(2))[1] == 'f');

    CHECK(contentOfFd(scene.fdFor(3))[0] == 'g');
    CHECK(::fcntl(scene.fdFor(3), F_GET_SEALS) == F_SEAL_SEAL);
    CHECK(contentOfFd(scene.restored.memfd(emptyInode)).empty());
}

TEST_CASE("one segment of several processes and mappings is written once") {
    const UniqueFd memfd(sys(::memfd_create("common", MFD_CLOEXEC), "make a memfd"));
    sys(::ftruncate(memfd.get(), static_cast<off_t>(pages(4))), "size");
    const auto map = [&memfd] {
        mapShared(0, pages(4), memfd.get())[0] = 'x';
        mapShared(1, pages(2), memfd.get(), PROT_READ);
    };
    Scene one(map);
    const StoppedChild other(map);
    FileId second;
    const kernel::ProcPid process = other.process();
    for (const kernel::Vma& vma : kernel::readSmaps(process))
        if (vma.start == place(0))
            second = one.dump.segments.find(process, vma, [] { return FileId{99}; }).id;
    CHECK(second == fileAt(one.dump, 0));
    CHECK(second == fileAt(one.dump, 1));
    CHECK(one.dump.files.entries.size() == 1);
    one.write();
    CHECK(one.result.pagesWritten == 1);
    auto reader = one.images.openRequired(ImageKind::Memfd);
    CHECK(reader.all<MemfdInodeEntry>().size() == 1);
}

TEST_CASE("shared huge pages") {
    constexpr std::size_t kHuge = std::size_t{2} << 20;
    constexpr unsigned kHugeTwoMegabytes = 21U << 26;
    void* const probe =
        ::mmap(nullptr, 6 * kHuge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (probe == MAP_FAILED) {
        WARN("skipped: not enough huge pages are set aside (/proc/sys/vm/nr_hugepages)");
        return;
    }
    ::munmap(probe, 6 * kHuge);
    Scene scene([] {
        mapShared(0, kHuge, -1, PROT_READ | PROT_WRITE, MAP_HUGETLB)[5] = 'h';
        mapShared(1, 2 * kHuge, makeMemfd(kFirstFd, "huge", MFD_HUGETLB, 2 * kHuge))[kHuge] = 'm';
    });
    scene.write();
    auto reader = scene.images.openRequired(ImageKind::Memfd);
    const auto inodes = reader.all<MemfdInodeEntry>();
    REQUIRE(inodes.size() == 2);
    CHECK(std::string(inodes[0]->name) == "/anon_hugepage");
    CHECK(inodes[0]->hugetlb_flag == (MFD_HUGETLB | kHugeTwoMegabytes));
    CHECK(std::string(inodes[1]->name) == "huge");
    scene.restore();
    CHECK(linkOf(scene.fdFor(0)) == "/anon_hugepage (deleted)");
    CHECK(contentOfFd(scene.fdFor(0))[5] == 'h');
    CHECK(contentOfFd(scene.fdFor(1))[kHuge] == 'm');
    const auto file = openFdOf(scene.child, kFirstFd);
    CHECK(scene.dump.segments.claims(file));
}

TEST_CASE("files of a mounted tmpfs and other deleted files aren't claimed") {
    const StoppedChild child([] {
        const UniqueFd file(sys(::open("/dev/shm", O_TMPFILE | O_RDWR, 0600), "open"));
        sys(::dup2(file.get(), kFirstFd), "move");
    });
    const SegmentsDump segments;
    CHECK(!segments.claims(openFdOf(child, kFirstFd)));
}

TEST_CASE("the content of a memfd doesn't get a number that is taken") {
    Scene scene([] { makeMemfd(kFirstFd, "one", 0, pages(1)); });
    const files::OpenFd file = openFdOf(scene.child, kFirstFd);
    const auto taken = static_cast<std::uint32_t>(file.stat.st_ino);
    scene.dump.segments.reserve(taken);
    (void)scene.dump.segments.inodeFor(file, scene.images);
    scene.write();
    auto reader = scene.images.openRequired(ImageKind::Memfd);
    const auto entries = reader.all<MemfdInodeEntry>();
    REQUIRE(entries.size() == 1);
    CHECK(entries.front()->shmid != taken);
}
