// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/shmem/segments_dump.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/base/sparse_file.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/mm/mapped_file.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/model/id_map.hpp"
#include "images/fdinfo.hpp"
#include "images/memfd.hpp"

namespace criu::memory {
namespace {

constexpr unsigned kMemfdHugeShift = 26;  // MFD_HUGE_SHIFT
constexpr std::string_view kMemfdPrefix = "/memfd:";

/// Maximum number of jobs that are collected before the drainer gets them.
constexpr std::size_t kSegmentJobsAtOnce = 4096;

std::string linkOf(int fd) {
    return kernel::ProcDir().self().readLink(fmt::format("fd/{}", fd));
}

/// Returns the name of a segment in images: the argument of memfd_create(2), or for anonymous memory the name in /proc.
std::string nameOf(std::string_view link) {
    if (link.ends_with(kernel::kDeletedMark))
        link.remove_suffix(kernel::kDeletedMark.size());
    if (link.starts_with(kMemfdPrefix))
        link.remove_prefix(kMemfdPrefix.size());
    return std::string(link);
}

std::string mapFilesName(const kernel::Vma& vma) {
    return fmt::format("map_files/{:x}-{:x}", vma.start, vma.end);
}

/// Copies a mapping of shared memory into a file, at the offset that the mapping has in the shared memory. Pages of
/// zeros become holes. /proc/PID/mem also reads mappings without PROT_READ.
void copyMapping(const UniqueFd& memory, const kernel::Vma& vma, int file) {
    std::vector<std::byte> block(std::min<std::uint64_t>(vma.size(), std::uint64_t{1} << 20));
    for (std::uint64_t at = vma.start; at < vma.end; at += block.size()) {
        const std::span<std::byte> part = std::span(block).first(std::min<std::uint64_t>(block.size(), vma.end - at));
        const ssize_t got = sys(::pread(memory.get(), part.data(), part.size(), static_cast<off_t>(at)),
                                "read shared memory at {:#x}", at);
        if (static_cast<std::size_t>(got) != part.size())
            fail("shared memory at {:#x} ends after {} bytes", at, got);
        for (std::size_t page = 0; page < part.size(); page += machinePageSize()) {
            const std::span<const std::byte> bytes = part.subspan(page, machinePageSize());
            if (std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{}; }))
                continue;
            const auto offset = static_cast<off_t>(vma.pgoff + (at - vma.start) + page);
            if (sys(::pwrite(file, bytes.data(), bytes.size(), offset), "copy shared memory") !=
                static_cast<ssize_t>(bytes.size()))
                fail("copy shared memory: no room");
        }
    }
}

}  // namespace

SegmentsDump::SegmentsDump() {
    const UniqueFd probe(sys(::memfd_create("probe", MFD_CLOEXEC), "create a memfd"));
    struct stat status {};
    sys(::fstat(probe.get(), &status), "look at a memfd");
    device_ = status.st_dev;
}

VmaDumpRules SegmentsDump::rules() const noexcept {
    VmaDumpRules rules;
    rules.shmemMajor = major(device_);
    rules.shmemMinor = minor(device_);
    return rules;
}

std::uint32_t SegmentsDump::chooseShmid(ino_t inode) {
    // The image number is the lower half of the inode number. Two segments may have the same inode number, because the
    // kernel has a separate file system for each huge page size.
    auto shmid = static_cast<std::uint32_t>(inode);
    while (shmid == 0 || !shmids_.insert(shmid).second)
        ++shmid;
    return shmid;
}

std::size_t SegmentsDump::add(int fd, std::string path, bool readable) {
    Segment segment;
    segment.readable = readable;
    sys(::fstat(fd, &segment.stat), "look at {}", path);
    segment.name = nameOf(linkOf(fd));
    segment.path = std::move(path);
    segment.seals = static_cast<std::uint32_t>(sys(::fcntl(fd, F_GET_SEALS), "read the seals of {}", segment.name));
    struct statfs system {};
    sys(::fstatfs(fd, &system), "look at the file system of {}", segment.name);
    if (system.f_type == HUGETLBFS_MAGIC)
        segment.hugeFlag =
            MFD_HUGETLB | static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(system.f_bsize)))
                              << kMemfdHugeShift;
    byInode_.emplace(Key{segment.stat.st_dev, segment.stat.st_ino}, segments_.size());
    segments_.push_back(std::move(segment));
    return segments_.size() - 1;
}

std::size_t SegmentsDump::addCopy(const kernel::ProcPid& process, const kernel::Vma& vma) {
    // A private mapping shows the changes of its process, not the shared memory. Copies of huge pages would need huge
    // pages.
    if (!vma.shared || !rules().isKernelTmpfs(vma))
        (void)kernel::openMappedFile(process, vma, O_RDONLY);
    UniqueFd copy(sys(::memfd_create("copy", MFD_CLOEXEC), "create a memfd"));
    const std::size_t index = add(copy.get(), process.path() + '/' + mapFilesName(vma), true);
    Segment& segment = segments_[index];
    byInode_.erase({segment.stat.st_dev, segment.stat.st_ino});
    byInode_.emplace(Key{makedev(vma.devMajor, vma.devMinor), vma.inode}, index);
    segment.name = nameOf(vma.name);
    segment.stat.st_ino = vma.inode;
    segment.kept = std::move(copy);
    segment.copied = true;
    return index;
}

void SegmentsDump::copyMappings(const kernel::ProcPid& process, const kernel::Vma& like, Segment& segment) {
    const UniqueFd memory = process.open("mem", O_RDONLY);
    for (const kernel::Vma& vma : kernel::readMaps(process)) {
        if (!vma.shared || vma.inode != like.inode || vma.devMajor != like.devMajor || vma.devMinor != like.devMinor)
            continue;
        const std::uint64_t end = vma.pgoff + vma.size();
        if (segment.size() < end) {
            sys(::ftruncate(segment.kept.get(), static_cast<off_t>(end)), "size a copy of shared memory");
            segment.stat.st_size = static_cast<off_t>(end);
        }
        copyMapping(memory, vma, segment.kept.get());
    }
}

FileId SegmentsDump::fileFor(const kernel::ProcPid& process, const kernel::Vma& vma, files::FileDump& dump) {
    const Mapped mapped = find(process, vma, [&dump] { return dump.nextId(); });
    if (mapped.fresh != nullptr)
        dump.add(*mapped.fresh);
    return mapped.id;
}

SegmentsDump::Mapped SegmentsDump::find(const kernel::ProcPid& process, const kernel::Vma& vma,
                                        const std::function<FileId()>& nextId) {
    const auto known = byInode_.find({makedev(vma.devMajor, vma.devMinor), vma.inode});
    std::size_t index = 0;
    if (known != byInode_.end())
        index = known->second;
    else if (const auto file = kernel::tryOpenMappedFile(process, vma, O_RDONLY))
        index = add(file->fd.get(), process.path() + '/' + file->name, true);
    else
        index = addCopy(process, vma);
    Segment& segment = segments_[index];
    if (segment.copied)
        copyMappings(process, vma, segment);
    if (segment.mappedAs.value != 0)
        return {segment.mappedAs, nullptr};
    segment.mappedAs = nextId();
    auto& entry = *arena_.make<FileEntry>();
    auto& memfd = *arena_.make<MemfdFileEntry>();
    entry.type = FD_TYPES__MEMFD;
    entry.id = memfd.id = segment.mappedAs.value;
    entry.memfd = &memfd;
    memfd.fown = arena_.make<FownEntry>();
    memfd.inode_id = static_cast<std::uint32_t>(index + 1);
    return {segment.mappedAs, &entry};
}

bool SegmentsDump::claims(const files::OpenFd& file) const {
    if (!S_ISREG(file.stat.st_mode) || !file.link.ends_with(kernel::kDeletedMark))
        return false;
    if (file.stat.st_dev == device_)
        return true;
    // A memfd of huge pages is on the hugetlbfs for its page size. Checks the file system, too, because a file of
    // another file system may have the same form of name.
    struct statfs system {};
    return file.link.starts_with(kMemfdPrefix) && ::fstatfs(file.copy.get(), &system) == 0 &&
           system.f_type == HUGETLBFS_MAGIC && file.stat.st_nlink == 0;
}

std::uint32_t SegmentsDump::inodeFor(const files::OpenFd& file, const ImageDir& images) {
    const auto known = byInode_.find({file.stat.st_dev, file.stat.st_ino});
    if (known != byInode_.end())
        return static_cast<std::uint32_t>(known->second + 1);
    std::string path = fmt::format("/proc/{}/fd/{}", file.actor, file.fd);
    // If criu couldn't read the memfd later in write(), throws Error now. Opens an O_PATH descriptor again, because
    // fcntl(2) doesn't read seals through O_PATH.
    const files::FileCopy content = file.isReadable() ? files::FileCopy() : files::openContent(file, images);
    const std::size_t index = add(content ? content.get() : file.copy.get(), std::move(path), file.isReadable());
    if (file.fd < 0)
        segments_[index].kept.reset(
            sys(::fcntl(file.copy.get(), F_DUPFD_CLOEXEC, 0), "keep memfd {}", segments_[index].name));
    return static_cast<std::uint32_t>(index + 1);
}

/// Returns the allocated size of a file in bytes.
static std::uint64_t bytesOf(int fd) {
    struct stat status {};
    sys(::fstat(fd, &status), "stat shared memory");
    return bytesInUse(status);
}

std::uint64_t writeSharedContent(int fd, std::string_view name, std::uint32_t shmid, std::uint64_t size,
                                 PageSinks& sinks, Drainer& drainer) {
    const std::unique_ptr<PageSink> sink = sinks.open(MemoryObject::shared(shmid), bytesOf(fd));
    Drainer::Run copying(drainer, {HostPid(), nullptr, fd}, *sink);
    std::vector<DrainJob> jobs;
    const auto handOver = [&] {
        copying.add(jobs);
        jobs.clear();
    };
    const ErrorContext context([&] { return std::string(name); });
    forEachData(fd, size, [&](std::uint64_t data, std::uint64_t hole) {
        const std::uint64_t start = data & ~(machinePageSize() - 1);
        // pageAlignUp() covers hugetlbfs: the content of such a file extends to the end of its last huge page.
        const std::uint64_t end = std::min(pageAlignUp(hole), pageAlignUp(size));
        jobs.push_back({{start, end - start, PageFlags::Present}});
        if (jobs.size() >= kSegmentJobsAtOnce)
            handOver();
    });
    handOver();
    copying.finish();
    sink->finish();
    return sink->contentSize() / kImagePageSize;
}

SegmentsDumpResult SegmentsDump::write(const ImageDir& images, PageSinks& sinks, const model::IdMap& owners,
                                       Drainer& drainer) {
    SegmentsDumpResult result;
    if (segments_.empty())
        return result;
    const auto start = std::chrono::steady_clock::now();
    ImageWriter image = images.create(ImageKind::Memfd);
    for (std::size_t index = 0; index < segments_.size(); ++index) {
        const Segment& segment = segments_[index];
        const std::uint32_t shmid = chooseShmid(segment.stat.st_ino);
        if (segment.size() != 0) {
            result.pagesScanned += pageAlignUp(segment.size()) / kImagePageSize;
            UniqueFd opened;
            const auto rights = segment.readable ? nullptr : images.takeRights();
            if (!segment.kept) {
                // O_NOATIME hides the read from the process, but open(2) allows it only to the owner of the file.
                opened.reset(::open(segment.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOATIME));
                if (!opened)
                    opened.reset(sys(::open(segment.path.c_str(), O_RDONLY | O_CLOEXEC), "open {} by {}", segment.name,
                                     segment.path));
            }
            const int fd = segment.kept ? segment.kept.get() : opened.get();
            result.pagesWritten += writeSharedContent(fd, segment.name, shmid, segment.size(), sinks, drainer);
        }
        MemfdInodeEntry entry = MEMFD_INODE_ENTRY__INIT;
        std::string name = segment.name;
        entry.name = name.data();
        entry.uid = owners.innerUid(segment.stat.st_uid);
        entry.gid = owners.innerGid(segment.stat.st_gid);
        entry.size = segment.size();
        entry.shmid = shmid;
        entry.seals = segment.seals;
        entry.inode_id = index + 1;
        entry.has_hugetlb_flag = segment.hugeFlag != 0;
        entry.hugetlb_flag = segment.hugeFlag;
        entry.has_mode = 1;
        entry.mode = segment.stat.st_mode;
        entry.has_atime = entry.has_mtime = 1;
        entry.atime = nanosecondsOf(segment.stat.st_atim);
        entry.mtime = nanosecondsOf(segment.stat.st_mtim);
        image.write(entry);
    }
    image.finish();
    result.moving = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
    return result;
}

UniqueFd ProcMappedFiles::open(const kernel::ProcPid& process, const kernel::Vma& vma, int flags) {
    const ErrorContext context([&] { return fmt::format("memory at {:#x} of {}", vma.start, vma.name); });
    return kernel::openMappedFile(process, vma, flags).fd;
}

int ProcMappedFiles::access(const kernel::ProcPid& process, const kernel::Vma& vma) {
    // A private mapping only reads the file. The kernel lets a shared mapping become writable (VmFlag::MayWrite) only
    // if the file is open for writing (do_mmap(), mm/mmap.c).
    if (!vma.shared)
        return O_RDONLY;
    if (vma.flags.has(kernel::VmFlag::MayWrite))
        return O_RDWR;
    // The permissions of the link in map_files show the access mode of the mapped open file description.
    struct stat link {};
    const std::string name = mapFilesName(vma);
    sys(::fstatat(process.fd(), name.c_str(), &link, AT_SYMLINK_NOFOLLOW), "look at {}/{}", process.path(), name);
    return (link.st_mode & S_IWUSR) != 0 ? O_RDWR : O_RDONLY;
}

bool ProcMappedFiles::plain(const kernel::ProcPid& process, const kernel::Vma& vma) {
    struct stat file {};
    sys(::fstat(open(process, vma, O_PATH).get(), &file), "look at the file at {:#x}", vma.start);
    // On all machines, /dev/zero has this device number (Documentation/admin-guide/devices.txt of Linux).
    return S_ISREG(file.st_mode) || (S_ISCHR(file.st_mode) && file.st_rdev == makedev(1, 5));
}

}  // namespace criu::memory
