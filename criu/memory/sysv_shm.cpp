// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/sysv_shm.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"
#include "images/ipc-shm.hpp"

namespace criu::memory {
namespace {

constexpr std::uint64_t kRecordAlignment = 4;  // of the content behind a record
constexpr unsigned kDestroyed = 01000;         // SHM_DEST in the mode: goes away with the last who has it attached

/// What the kernel knows of a segment; nothing if there is none with this id.
std::optional<shmid_ds> find(int id) {
    shmid_ds status{};
    if (::shmctl(id, IPC_STAT, &status) == 0)
        return status;
    if (errno != EINVAL && errno != EIDRM)
        failErrno("look at System V shared memory {}", id);
    return std::nullopt;
}

/// A segment that criu itself has attached for a moment.
class Attached {
public:
    Attached(int id, std::uint64_t size, int flags) : at_(::shmat(id, nullptr, flags)), size_(size) {
        if (at_ == reinterpret_cast<void*>(-1))
            failErrno("attach System V shared memory {}", id);
    }
    ~Attached() { ::shmdt(at_); }
    Attached(const Attached&) = delete;
    Attached& operator=(const Attached&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), size_}; }

private:
    void* at_;
    std::uint64_t size_;
};

/// Has the kernel take this id for the next segment (Documentation/admin-guide/sysctl/kernel.rst: shm_next_id).
void chooseNextId(int id) {
    const UniqueFd file(sys(::open("/proc/sys/kernel/shm_next_id", O_WRONLY | O_CLOEXEC), "open shm_next_id"));
    const std::string text = std::to_string(id);
    sys(::write(file.get(), text.data(), text.size()), "ask for the id {} of System V shared memory", id);
}

void makeSegment(const IpcShmEntry& entry) {
    const IpcDescEntry& desc = *entry.desc;
    const int id = static_cast<int>(desc.id);
    int flags = IPC_CREAT | IPC_EXCL | static_cast<int>(desc.mode & 0777U);
    if (entry.has_hugetlb_flag != 0)
        flags |= static_cast<int>(entry.hugetlb_flag);
    chooseNextId(id);
    const int made = ::shmget(static_cast<key_t>(desc.key), entry.size, flags);
    if (made < 0) {
        // The id would go to whoever asks for a segment next.
        const int code = errno;
        if (const int used = ::shmget(IPC_PRIVATE, 1, 0600); used >= 0)
            ::shmctl(used, IPC_RMID, nullptr);
        errno = code;
    }
    if (made < 0 && errno == EEXIST)
        fail("the key {:#x} of System V shared memory {} is taken by another segment", desc.key, id);
    sys(made, "create System V shared memory {} of {} bytes", id, entry.size);
    if (made != id) {
        ::shmctl(made, IPC_RMID, nullptr);
        fail("System V shared memory got the id {} instead of {}", made, id);
    }
}

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

}  // namespace

bool isSysvShm(const std::string& name) {
    return name.starts_with("/SYSV");
}

void SysvShmDump::write(const ImageDir& images, std::uint32_t namespaceId, const namespaces::IdMap& ids) const {
    if (attached_.empty()) {
        images.unlink(ImageKind::IpcShm, namespaceId);  // that of an earlier dump
        return;
    }
    ImageWriter image = images.create(ImageKind::IpcShm, namespaceId);
    for (const auto& [id, count] : attached_) {
        const auto status = find(id);
        if (!status)
            fail("System V shared memory {} is mapped but isn't in this IPC namespace", id);
        if (status->shm_nattch != count) {
            Error error(0, fmt::format("System V shared memory {} is attached {} times, {} of them in the tree", id,
                                       status->shm_nattch, count));
            error.addHint("dump all processes that use it");
            throw error;
        }
        IpcDescEntry desc = IPC_DESC_ENTRY__INIT;
        desc.key = static_cast<std::uint32_t>(status->shm_perm.__key);
        desc.uid = ids.innerUid(status->shm_perm.uid);
        desc.gid = ids.innerGid(status->shm_perm.gid);
        desc.cuid = ids.innerUid(status->shm_perm.cuid);
        desc.cgid = ids.innerGid(status->shm_perm.cgid);
        desc.mode = status->shm_perm.mode;
        desc.id = static_cast<std::uint32_t>(id);
        IpcShmEntry entry = IPC_SHM_ENTRY__INIT;
        entry.desc = &desc;
        entry.size = status->shm_segsz;
        image.write(entry);
        image.payload(Attached(id, entry.size, SHM_RDONLY).bytes());
        image.zeros((kRecordAlignment - entry.size % kRecordAlignment) % kRecordAlignment);
    }
    image.finish();
}

void SysvShmRestore::create(const ImageDir& images, std::uint32_t namespaceId, const namespaces::IdMap& ids) {
    auto image = images.openRead(ImageKind::IpcShm, namespaceId);
    if (!image)
        return;
    while (const auto record = image->next<IpcShmEntry>()) {
        const IpcShmEntry& entry = **record;
        const int id = static_cast<int>(entry.desc->id);
        if (entry.has_in_pagemaps != 0 && entry.in_pagemaps != 0)
            fail("the content of System V shared memory {} is that of an IPC namespace, which can't be restored yet",
                 id);
        if (const auto found = find(id)) {
            requireSame(entry, *found);
            log_.info("System V shared memory {} is still there", id);
        } else {
            makeSegment(entry);
            created_.push_back(id);
        }
        shmid_ds owner{};
        owner.shm_perm.uid = ids.outerUid(entry.desc->uid);
        owner.shm_perm.gid = ids.outerGid(entry.desc->gid);
        owner.shm_perm.mode = static_cast<decltype(owner.shm_perm.mode)>(entry.desc->mode & 0777U);
        sys(::shmctl(id, IPC_SET, &owner), "give System V shared memory {} to its owner", id);
        image->readPayload(Attached(id, entry.size, 0).bytes());
        image->skipPayload((kRecordAlignment - entry.size % kRecordAlignment) % kRecordAlignment);
        if ((entry.desc->mode & kDestroyed) != 0)
            doomed_.push_back(id);
    }
}

SysvShmRestore::~SysvShmRestore() {
    for (const int id : created_)
        if (::shmctl(id, IPC_RMID, nullptr) != 0)
            log_.warn("System V shared memory {} of the failed restore is left: {}", id, std::strerror(errno));
}

void SysvShmRestore::keep() noexcept {
    created_.clear();
    for (const int id : doomed_)
        if (::shmctl(id, IPC_RMID, nullptr) != 0)
            log_.warn("System V shared memory {} can't be marked for removal: {}", id, std::strerror(errno));
    doomed_.clear();
}

int attachSysvShm(const VmaEntry& vma, std::uint64_t place) {
    const int id = static_cast<int>(vma.shmid);
    const std::uint64_t wanted = vma.end - vma.start;
    const auto status = find(id);
    const std::uint64_t size = status ? (status->shm_segsz + kPageSize - 1) & ~(kPageSize - 1) : 0;
    if (vma.pgoff > size || size - vma.pgoff < wanted)
        fail("System V shared memory {} has {} bytes, fewer than are mapped", id, size);
    const bool writable = (vma.prot & PROT_WRITE) != 0;
    const int flags = (writable ? 0 : SHM_RDONLY) | ((vma.prot & PROT_EXEC) != 0 ? SHM_EXEC : 0);
    // The kernel's choice of an address must not be in the way.
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
        ::munmap(whole, vma.pgoff);
    if (const std::uint64_t behind = size - vma.pgoff - wanted; behind != 0)
        ::munmap(part + wanted, behind);
    return (writable ? PROT_READ | PROT_WRITE : PROT_READ) | static_cast<int>(vma.prot & PROT_EXEC);
}

}  // namespace criu::memory
