// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/shmem/sysv_shm.hpp"

#include <sys/mman.h>
#include <sys/shm.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/memory/mappings/vma_pages.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/memory/shmem/segments_dump.hpp"
#include "criu/memory/shmem/sysv_segment.hpp"
#include "criu/model/ipc_owner.hpp"

namespace criu::memory {
namespace {

constexpr std::uint64_t kRecordAlignment = 4;  // alignment of content that follows an entry in older images

void requireSame(const IpcShmEntry& entry, const shmid_ds& found) {
    const IpcDescEntry& desc = *entry.desc;
    const int id = static_cast<int>(desc.id);
    if (static_cast<std::uint32_t>(found.shm_perm.__key) != desc.key || found.shm_segsz != entry.size)
        fail("the id {} of System V shared memory is taken by another segment ({} bytes, key {:#x})", id,
             found.shm_segsz, found.shm_perm.__key);
    if (found.shm_nattch != 0)
        fail("System V shared memory {} is in use: attached {} times, last by pid {}", id, found.shm_nattch,
             found.shm_lpid);
}

/// Clears pages that the images lack: the segment may have existed already, with content that is newer than the dump.
void clearRest(const PageSource& pages, std::span<std::byte> memory) {
    pages.forEach(0, std::max<std::uint64_t>(pageAlignUp(memory.size()), pages.end()), [&](const PageJob& job) {
        if (job.state != PageJob::State::Absent)
            return;
        std::byte* const at = memory.data() + job.address;
        // madvise(2) fails for some memory, for instance for huge pages.
        if (::madvise(at, job.bytes, MADV_REMOVE) != 0)
            std::memset(at, 0, std::min(job.bytes, memory.size() - job.address));
    });
}

void restoreContent(const IpcShmEntry& entry, bool isNew, ImageReader& image, const PageSources& pages,
                    const std::function<void()>& checkStop) {
    const AttachedSegment attached(static_cast<int>(entry.desc->id), entry.size, 0);
    if (entry.has_in_pagemaps == 0 || entry.in_pagemaps == 0) {
        image.readPayload(attached.bytes());
        image.skipPayload((kRecordAlignment - entry.size % kRecordAlignment) % kRecordAlignment);
        return;
    }
    const PageSource source = pages.openRequired(MemoryObject::shared(entry.desc->id));
    fillSharedContent(&source, entry.desc->id, attached.bytes(), checkStop);
    if (!isNew)
        clearRest(source, attached.bytes());
}

}  // namespace

bool isSysvShm(const std::string& name) {
    return name.starts_with("/SYSV");
}

std::vector<std::uint32_t> SysvShmDump::ids() const {
    std::vector<std::uint32_t> ids;
    for (const auto& [id, count] : attached_)
        ids.push_back(static_cast<std::uint32_t>(id));
    return ids;
}

std::uint64_t SysvShmDump::write(const ImageDir& images, PageSinks& sinks, std::uint32_t namespaceId,
                                 const model::IdMap& ids, Drainer& drainer) const {
    std::uint64_t pages = 0;
    if (attached_.empty()) {
        images.unlink(ImageKind::IpcShm, namespaceId);  // removes the image of an earlier dump
        return pages;
    }
    ImageWriter image = images.create(ImageKind::IpcShm, namespaceId);
    for (const auto& [id, count] : attached_) {
        const auto status = findSegment(id);
        if (!status)
            fail("System V shared memory {} is mapped but isn't in this IPC namespace", id);
        if (status->shm_nattch != count) {
            Error error(0, fmt::format("System V shared memory {} is attached {} times, {} of them in the tree", id,
                                       status->shm_nattch, count));
            error.addHint("dump all processes that use it");
            throw error;
        }
        IpcDescEntry desc = model::describeIpc(id, status->shm_perm);
        model::toInside(desc, ids);
        IpcShmEntry entry = IPC_SHM_ENTRY__INIT;
        entry.desc = &desc;
        entry.size = status->shm_segsz;
        entry.has_in_pagemaps = entry.in_pagemaps = 1;
        const AttachedSegment attached(id, entry.size, SHM_RDONLY);
        const UniqueFd file = attached.file();
        if (const std::uint32_t flag = segmentHugeFlag(file.get()); flag != 0) {
            entry.has_hugetlb_flag = 1;
            entry.hugetlb_flag = flag;
        }
        image.write(entry);
        pages += writeSharedContent(file.get(), fmt::format("System V shared memory {}", id),
                                    static_cast<std::uint32_t>(id), entry.size, sinks, drainer);
    }
    image.finish();
    return pages;
}

void SysvShmRestore::create(const ImageDir& images, const PageSources& pages, std::uint32_t namespaceId,
                            const model::IdMap& ids, const std::function<void()>& checkStop) {
    auto image = images.openRead(ImageKind::IpcShm, namespaceId);
    if (!image)
        return;
    while (const auto record = image->next<IpcShmEntry>()) {
        const IpcShmEntry& entry = **record;
        model::toOutside(*entry.desc, ids);
        const int id = static_cast<int>(entry.desc->id);
        const auto found = findSegment(id);
        if (found) {
            requireSame(entry, *found);
            log_.info("System V shared memory {} is still there", id);
        } else {
            recordSegment(id);
            makeSegment(entry);
            created_.push_back(id);
        }
        setSegmentOwner(entry);
        inContext([&] { return fmt::format("System V shared memory {}", id); },
                  [&] { restoreContent(entry, !found, *image, pages, checkStop); });
        if ((entry.desc->mode & kShmDestroyed) != 0)
            removalMarked_.push_back(id);
    }
}

/// Lets `criu rescue` remove the segment if criu is killed.
void SysvShmRestore::recordSegment(int id) const {
    if (!log_.journal().isOpen())
        return;
    const UniqueFd space = kernel::openOwnNamespace(kernel::NamespaceKind::Ipc);
    log_.journal().record({"segment", fmt::format("{}", kernel::namespaceInode(space.get())), fmt::format("{}", id)});
}

SysvShmRestore::~SysvShmRestore() {
    for (const int id : created_)
        if (::shmctl(id, IPC_RMID, nullptr) != 0)
            log_.warn("System V shared memory {} of the failed restore is left: {}", id, std::strerror(errno));
}

void SysvShmRestore::markRemovals() {
    for (const int id : removalMarked_) {
        sys(::shmctl(id, IPC_RMID, nullptr), "mark System V shared memory {} for removal", id);
        std::erase(created_, id);
    }
    removalMarked_.clear();
}

int attachSysvShm(const VmaEntry& vma, std::uint64_t place) {
    const int id = static_cast<int>(vma.shmid);
    const std::uint64_t wanted = vma.end - vma.start;
    const auto status = findSegment(id);
    const std::uint64_t page = pageSizeOf(vma);
    const std::uint64_t size = status ? (status->shm_segsz + page - 1) & ~(page - 1) : 0;
    if (vma.pgoff > size || size - vma.pgoff < wanted)
        fail("System V shared memory {} has {} bytes, fewer than are mapped", id, size);
    const bool writable = (vma.prot & PROT_WRITE) != 0;
    const int flags = (writable ? 0 : SHM_RDONLY) | ((vma.prot & PROT_EXEC) != 0 ? SHM_EXEC : 0);
    // Reserves the addresses at `place`, so that shmat(2) chooses other addresses.
    if (::mmap(reinterpret_cast<void*>(place), wanted, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        failErrno("keep room for System V shared memory {} at {:#x}", id, place);
    char* const whole = static_cast<char*>(::shmat(id, nullptr, flags));
    if (whole == reinterpret_cast<char*>(-1))
        failErrno("attach System V shared memory {}", id);
    char* const part = whole + vma.pgoff;
    if (::mremap(part, wanted, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(place)) == MAP_FAILED)
        failErrno("move System V shared memory {} to {:#x}", id, place);
    if (vma.pgoff != 0)
        sys(::munmap(whole, vma.pgoff), "unmap the begin of System V shared memory {}", id);
    if (const std::uint64_t behind = size - vma.pgoff - wanted; behind != 0)
        sys(::munmap(part + wanted, behind), "unmap the end of System V shared memory {}", id);
    return (writable ? PROT_READ | PROT_WRITE : PROT_READ) | static_cast<int>(vma.prot & PROT_EXEC);
}

}  // namespace criu::memory
