// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/segments.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/memory/bulk.hpp"

namespace criu::memory {
namespace {

/// Shared anonymous memory as a file: mapping it shows "/dev/zero (deleted)", as mmap(MAP_SHARED | MAP_ANONYMOUS) does.
UniqueFd makeAnonymous(std::uint64_t size) {
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        failErrno("map {} bytes of shared memory", size);
    const auto start = reinterpret_cast<std::uint64_t>(at);
    const Mapping mapping(at, size);
    const std::string path = fmt::format("/proc/self/map_files/{:x}-{:x}", start, start + size);
    return UniqueFd(sys(::open(path.c_str(), O_RDWR | O_CLOEXEC), "open shared memory through {}", path));
}

UniqueFd makeMemfd(const MemfdInodeEntry& inode) {
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    if (inode.has_hugetlb_flag != 0)
        flags |= inode.hugetlb_flag;
    // The image has the name as links show it.
    std::string_view name = inode.name;
    constexpr std::string_view kPrefix = "/memfd:";
    if (name.starts_with(kPrefix))
        name.remove_prefix(kPrefix.size());
    UniqueFd fd(sys(::memfd_create(std::string(name).c_str(), flags), "create memfd {}", name));
    sys(::ftruncate(fd.get(), static_cast<off_t>(inode.size)), "size memfd {} to {} bytes", name, inode.size);
    sys(::fchown(fd.get(), inode.uid, inode.gid), "give memfd {} to {}:{}", name, inode.uid, inode.gid);
    if (inode.has_mode != 0)
        sys(::fchmod(fd.get(), inode.mode & 07777), "set mode {:#o} of memfd {}", inode.mode & 07777, name);
    return fd;
}

void fillSegment(const ImageDir& images, std::uint64_t shmid, int fd, std::uint64_t size, std::uint64_t& total) {
    const auto pagemap = Pagemap::load(images, ImageKind::ShmemPagemap, shmid);
    if (!pagemap || pagemap->ranges().empty())
        return;
    const auto pages = pagemap->openPages(images, O_RDONLY | O_CLOEXEC);
    if (pagemap->ranges().back().end() > pageAlignUp(size))
        fail("shared memory {} has content beyond its {} bytes", shmid, size);
    const std::size_t mapped = pageAlignUp(size);
    void* const at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        failErrno("map shared memory {} of {} bytes", shmid, mapped);
    const Mapping mapping(at, mapped);
    std::vector<FillJob> jobs;
    for (const PagemapRange& range : pagemap->ranges()) {
        if (!has(range.flags, PageFlags::Present))
            fail("content of shared memory {} is in a parent dump; incremental images can't be restored yet", shmid);
        jobs.push_back({range.fileOffset, reinterpret_cast<std::uint64_t>(at) + range.vaddr, range.bytes()});
        total += range.bytes();
    }
    fillMemory(pages->get(), jobs);
}

}  // namespace

Segments::Segment& Segments::add(std::uint64_t shmid, std::uint64_t size) {
    Segment& segment = byShmid_[shmid];
    segment.shmid = shmid;
    segment.size = std::max(segment.size, size);
    return segment;
}

void Segments::collect(const model::ProcessTree& tree, const ImageDir& images,
                       const std::function<std::uint64_t(FileId)>& memfdOf) {
    if (auto reader = images.openRead(ImageKind::Memfd))
        inodes_ = reader->all<MemfdInodeEntry>();
    for (const auto& inode : inodes_) {
        Segment& segment = byInode_[inode->inode_id];
        segment.shmid = inode->shmid;
        segment.size = inode->size;
        segment.memfd = inode.get();
    }
    for (const auto& task : tree.tasks) {
        if (!task->mm)
            continue;
        for (const VmaEntry* vma : list((*task->mm)->vmas, (*task->mm)->n_vmas)) {
            if (is(*vma, VmaStatus::Memfd)) {
                const FileId id{static_cast<std::uint32_t>(vma->shmid)};
                const std::uint64_t inode = memfdOf(id);
                if (!byInode_.contains(inode))
                    fail("pid {}: memory at {:#x} maps memfd file {}, which the images don't have", task->pid,
                         vma->start, id);
                inodeOfFile_[vma->shmid] = inode;
            } else if (is(*vma, VmaStatus::AnonShared) && !is(*vma, VmaStatus::SysvIpc)) {
                add(vma->shmid, vma->pgoff + (vma->end - vma->start));
            }
        }
    }
    for (auto& [shmid, segment] : byShmid_)
        if (const auto pagemap = Pagemap::load(images, ImageKind::ShmemPagemap, shmid);
            pagemap && !pagemap->ranges().empty())
            segment.size = std::max(segment.size, pagemap->ranges().back().end());
}

void Segments::create(const ImageDir& images, const std::function<UniqueFd(UniqueFd)>& lift) {
    for (auto& [shmid, segment] : byShmid_)
        segment.fd = lift(makeAnonymous(segment.size));
    for (auto& [inode, segment] : byInode_) {
        segment.fd = lift(makeMemfd(*segment.memfd));
        const std::uint32_t seals = segment.memfd->seals;
        if (seals == 0)
            continue;
        // A write seal is refused as soon as a process has the memfd mapped, so these can't be filled later.
        if (segment.size != 0)
            fillSegment(images, segment.shmid, segment.fd.get(), segment.size, sealedBytes_);
        sys(::fcntl(segment.fd.get(), F_ADD_SEALS, seals), "seal memfd {} ({:#x})", segment.memfd->name, seals);
    }
}

std::uint64_t Segments::fill(const ImageDir& images) {
    std::uint64_t total = sealedBytes_;
    for (auto& [shmid, segment] : byShmid_)
        fillSegment(images, shmid, segment.fd.get(), segment.size, total);
    for (auto& [inode, segment] : byInode_)
        if (segment.size != 0 && segment.memfd->seals == 0)
            fillSegment(images, segment.shmid, segment.fd.get(), segment.size, total);
    return total;
}

int Segments::descriptorFor(const VmaEntry& vma) const {
    if (is(vma, VmaStatus::Memfd)) {
        const auto inode = inodeOfFile_.find(vma.shmid);
        if (inode != inodeOfFile_.end())
            return memfd(inode->second);
    }
    const auto found = byShmid_.find(vma.shmid);
    if (found == byShmid_.end())
        fail("memory at {:#x} uses shared memory {}, which wasn't made", vma.start, vma.shmid);
    return found->second.fd.get();
}

int Segments::memfd(std::uint64_t inodeId) const {
    const auto found = byInode_.find(inodeId);
    if (found == byInode_.end())
        fail("the images have no memfd of inode id {}", inodeId);
    return found->second.fd.get();
}

}  // namespace criu::memory
