// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/shmem/segments.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/names.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/process_tree.hpp"
#include "images/memfd.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

constexpr std::string_view kAnonymous = "/dev/zero";
constexpr std::string_view kAnonymousHuge = "/anon_hugepage";
constexpr std::uint32_t kHugeSizeMask = 0x3fU << 26;  // MFD_HUGE_MASK << MFD_HUGE_SHIFT; mmap(2) uses the same bits
constexpr std::uint32_t kFutureWrite = 0x10;          // F_SEAL_FUTURE_WRITE (Linux 5.1)

/// See makeAnonymousShared(). `extraFlags`: flags of mmap(2).
UniqueFd makeAnonymous(std::uint64_t size, int extraFlags = MAP_NORESERVE) {
    const int flags = MAP_SHARED | MAP_ANONYMOUS | extraFlags;
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED)
        failErrno("map {} bytes of shared memory", size);
    const auto start = reinterpret_cast<std::uint64_t>(at);
    const Mapping mapping(at, size);
    const std::string path = fmt::format("/proc/self/map_files/{:x}-{:x}", start, start + size);
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (fd || errno != EPERM || (extraFlags & MAP_HUGETLB) != 0)
        return UniqueFd(sys(fd.release(), "open shared memory through {}", path));
    // The kernel opens this link only with CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN in the initial user namespace (Linux
    // 5.9). A memfd has the same content, and /proc/PID/maps shows it as "/memfd:/dev/zero (deleted)".
    fd.reset(sys(::memfd_create(std::string(kAnonymous).c_str(), MFD_CLOEXEC), "create a memfd"));
    sys(::ftruncate(fd.get(), static_cast<off_t>(size)), "size a memfd to {} bytes", size);
    return fd;
}

UniqueFd makeMemfd(std::string_view name, const MemfdInodeEntry& inode) {
    // A memfd that was created without MFD_ALLOW_SEALING has only the seal F_SEAL_SEAL (memfd_create(2)).
    unsigned flags = MFD_CLOEXEC;
    if (inode.seals != F_SEAL_SEAL)
        flags |= MFD_ALLOW_SEALING;
    if (inode.has_hugetlb_flag != 0)
        flags |= inode.hugetlb_flag;
    UniqueFd fd(sys(::memfd_create(std::string(name).c_str(), flags), "create memfd {}", name));
    sys(::ftruncate(fd.get(), static_cast<off_t>(inode.size)), "size memfd {} to {} bytes", name, inode.size);
    return fd;
}

/// Creates the memory of an inode. Decides by the name whether this is a memfd or shared anonymous memory, because
/// images don't distinguish them otherwise.
UniqueFd makeInode(const MemfdInodeEntry& inode, const model::IdMap& ids) {
    // Older images contain the name in the format of /proc/PID/fd links.
    std::string_view name = inode.name;
    constexpr std::string_view kPrefix = "/memfd:";
    if (name.starts_with(kPrefix))
        name.remove_prefix(kPrefix.size());
    const bool unsealed = inode.seals == F_SEAL_SEAL && inode.size != 0;
    const bool huge = inode.has_hugetlb_flag != 0 && inode.hugetlb_flag != 0;
    UniqueFd fd;
    if (unsealed && !huge && name == kAnonymous && inode.size % machinePageSize() == 0)
        fd = makeAnonymous(inode.size);
    else if (unsealed && huge && name == kAnonymousHuge)
        fd = makeAnonymous(inode.size, MAP_HUGETLB | static_cast<int>(inode.hugetlb_flag & kHugeSizeMask));
    else
        fd = makeMemfd(name, inode);
    const uid_t uid = ids.outerUid(inode.uid);
    const gid_t gid = ids.outerGid(inode.gid);
    sys(::fchown(fd.get(), uid, gid), "give memfd {} to {}:{}", name, uid, gid);
    if (inode.has_mode != 0)
        sys(::fchmod(fd.get(), inode.mode & 07777), "set mode {:#o} of memfd {}", inode.mode & 07777, name);
    return fd;
}

bool mapsForWriting(const VmaEntry& vma) {
    return is(vma, VmaStatus::FileShared) && (vma.prot & PROT_WRITE) != 0;
}

}  // namespace

UniqueFd makeAnonymousShared(std::uint64_t size) {
    return makeAnonymous(size);
}

std::uint64_t fillSharedContent(const PageSource* pages, std::uint64_t shmid, std::span<std::byte> memory,
                                const std::function<void()>& checkStop, const ReadWatch& watch, bool frees) {
    if (pages == nullptr)
        return 0;
    if (pages->end() > pageAlignUp(memory.size()))
        fail("shared memory {} has content beyond its {} bytes", shmid, memory.size());
    const auto at = reinterpret_cast<std::uint64_t>(memory.data());
    std::uint64_t total = 0;
    std::vector<PlacedPages> placed;
    pages->forEach(0, pages->end(), [&](const PageJob& job) {
        if (job.state == PageJob::State::Absent)
            return;
        placed.push_back({job, at + job.address});
        total += job.bytes;
    });
    PageReader reader(*pages, checkStop, watch);
    if (frees)
        reader.freeWhatIsRead();
    reader.read(placed);
    return total;
}

std::uint64_t fillSharedContent(const PageSource* pages, std::uint64_t shmid, std::span<std::byte> memory,
                                const std::function<void()>& checkStop) {
    return fillSharedContent(pages, shmid, memory, checkStop, ReadWatch(), false);
}

Segments::Segment& Segments::add(std::uint64_t shmid, std::uint64_t size) {
    Segment& segment = byShmid_[shmid];
    segment.shmid = shmid;
    segment.size = std::max(segment.size, size);
    return segment;
}

std::uint64_t Segments::contentBytes() const {
    std::uint64_t bytes = 0;
    for (const auto* const segments : {&byShmid_, &byInode_})
        for (const auto& [id, segment] : *segments)
            if (segment.content)
                segment.content->addPresentBytes(bytes);
    return bytes;
}

void Segments::collect(const model::ProcessTree& tree, const ImageDir& images, const PageSources& pages,
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
                Segment& segment = byInode_[inode];
                // F_SEAL_FUTURE_WRITE doesn't affect existing mappings (fcntl(2), Linux 5.1). So criu sets this seal
                // after processes have mapped the memfd for writing.
                if (mapsForWriting(*vma) && (segment.memfd->seals & kFutureWrite) != 0)
                    segment.sealLate = true;
            } else if (is(*vma, VmaStatus::AnonShared) && !is(*vma, VmaStatus::SysvIpc)) {
                add(vma->shmid, vma->pgoff + (vma->end - vma->start));
            }
        }
    }
    for (auto& [shmid, segment] : byShmid_) {
        segment.content = pages.open(MemoryObject::shared(shmid));
        if (segment.content)
            segment.size = std::max(segment.size, segment.content->end());
    }
    for (auto& [inode, segment] : byInode_)
        if (segment.size != 0)
            segment.content = pages.open(MemoryObject::shared(segment.shmid));
}

bool Segments::takeProvided(Segment& segment, kernel::FdStore& store, const Provide& provide) {
    if (!provide || segment.size == 0)
        return false;
    UniqueFd fd = provide(segment.shmid, segment.size);
    if (!fd)
        return false;
    segment.fd = store.inherit(kernel::FdKey::SharedMemory, std::move(fd));
    segment.content.reset();
    return true;
}

void Segments::create(const model::IdMap& ids, kernel::FdStore& store, const std::function<void()>& checkStop,
                      const Provide& provide) {
    for (auto& [shmid, segment] : byShmid_)
        if (!takeProvided(segment, store, provide))
            segment.fd = store.inherit(kernel::FdKey::SharedMemory, makeAnonymous(segment.size));
    for (auto& [inode, segment] : byInode_) {
        const bool huge = segment.memfd->has_hugetlb_flag != 0 && segment.memfd->hugetlb_flag != 0;
        if (!huge && takeProvided(segment, store, provide)) {
            segment.sealLate = true;  // the provider fills the memory until it is ready
            continue;
        }
        segment.fd = store.inherit(kernel::FdKey::SharedMemory, makeInode(*segment.memfd, ids));
        if (segment.sealLate)
            continue;
        // The kernel refuses a write seal on a mapped memfd. So criu fills and seals the memfd before a process maps
        // it.
        if (segment.size != 0 && (segment.memfd->seals & (F_SEAL_WRITE | kFutureWrite)) != 0) {
            sealedBytes_ += fill(segment, checkStop, {});
            segment.filled = true;
        }
        seal(segment);
    }
}

void Segments::seal(const Segment& segment) {
    const std::uint32_t seals = segment.memfd->seals;
    const int present = sys(::fcntl(segment.fd.get(), F_GET_SEALS), "read the seals of memfd {}", segment.memfd->name);
    if ((seals & ~static_cast<std::uint32_t>(present)) != 0)
        sys(::fcntl(segment.fd.get(), F_ADD_SEALS, seals), "seal memfd {} ({:#x})", segment.memfd->name, seals);
}

std::uint64_t Segments::fill(const Segment& segment, const std::function<void()>& checkStop,
                             const ReadWatch& watch) const {
    if (!segment.content)
        return 0;
    const std::size_t mapped = pageAlignUp(segment.size);
    void* const at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd.get(), 0);
    if (at == MAP_FAILED)
        failErrno("map shared memory {} of {} bytes", segment.shmid, mapped);
    const Mapping mapping(at, mapped);
    return fillSharedContent(&*segment.content, segment.shmid, {static_cast<std::byte*>(at), mapped}, checkStop, watch,
                             frees_);
}

std::uint64_t Segments::fill(const std::function<void()>& checkStop, const ReadWatch& watch) {
    std::uint64_t total = sealedBytes_;
    for (const auto& [shmid, segment] : byShmid_)
        total += fill(segment, checkStop, watch);
    for (const auto& [inode, segment] : byInode_)
        if (segment.size != 0 && !segment.filled)
            total += fill(segment, checkStop, watch);
    return total;
}

void Segments::finish() const {
    for (const auto& [inode, segment] : byInode_)
        if (segment.sealLate)
            seal(segment);
    for (const auto& [inode, segment] : byInode_)
        if (segment.memfd->has_atime != 0 && segment.memfd->has_mtime != 0)
            changeTimes(segment.fd.get(), timespecOf(segment.memfd->atime), timespecOf(segment.memfd->mtime));
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
