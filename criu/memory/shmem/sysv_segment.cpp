// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/shmem/sysv_segment.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <bit>

#include "criu/base/error.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/sysv_ipc.hpp"
#include "criu/memory/shmem/segments_dump.hpp"
#include "criu/model/ipc_owner.hpp"

namespace criu::memory {

std::optional<shmid_ds> findSegment(int id) {
    shmid_ds status{};
    if (::shmctl(id, IPC_STAT, &status) == 0)
        return status;
    if (errno != EINVAL && errno != EIDRM)
        failErrno("look at System V shared memory {}", id);
    return std::nullopt;
}

void makeSegment(const IpcShmEntry& entry) {
    const IpcDescEntry& desc = *entry.desc;
    const int id = static_cast<int>(desc.id);
    int flags = IPC_CREAT | IPC_EXCL | static_cast<int>(desc.mode & 0777U);
    if (entry.has_hugetlb_flag != 0)
        flags |= static_cast<int>(entry.hugetlb_flag);
    kernel::chooseNextIpcId(kernel::IpcKind::SharedMemory, id);
    int made = -1;
    int code = 0;
    const auto create = [&] {
        made = ::shmget(static_cast<key_t>(desc.key), entry.size, flags);
        code = errno;
    };
    // Creates a segment of huge pages as root. These need CAP_IPC_LOCK or the group of vm.hugetlb_shm_group
    // (shmget(2)), and criu can't determine which of both the creator had.
    if (entry.has_hugetlb_flag != 0)
        create();
    else
        kernel::withEffectiveIds(desc.cuid, desc.cgid, create);
    if (made < 0) {
        // Uses up the chosen id. Otherwise the next new segment of any process would get it.
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

void setSegmentOwner(const IpcShmEntry& entry) {
    shmid_ds owner{};
    owner.shm_perm.uid = entry.desc->uid;
    owner.shm_perm.gid = entry.desc->gid;
    owner.shm_perm.mode = static_cast<decltype(owner.shm_perm.mode)>(entry.desc->mode & 0777U);
    const int id = static_cast<int>(entry.desc->id);
    sys(::shmctl(id, IPC_SET, &owner), "give System V shared memory {} to its owner", id);
}

AttachedSegment::AttachedSegment(int id, std::uint64_t size, int flags)
    : at_(::shmat(id, nullptr, flags)), size_(size) {
    if (at_ == reinterpret_cast<void*>(-1))
        failErrno("attach System V shared memory {}", id);
}

UniqueFd AttachedSegment::file() const {
    const auto start = reinterpret_cast<std::uint64_t>(at_);
    const kernel::ProcPid self = kernel::ProcDir().self();
    const std::vector<kernel::Vma> maps = kernel::readMaps(self);
    const auto found =
        std::find_if(maps.begin(), maps.end(), [&](const kernel::Vma& vma) { return vma.start == start; });
    if (found == maps.end())
        fail("the memory attached at {:#x} isn't mapped", start);
    return ProcMappedFiles::open(self, *found, O_RDONLY);
}

std::uint32_t segmentHugeFlag(int file) {
    constexpr std::uint32_t kHugePages = 04000;  // SHM_HUGETLB
    constexpr unsigned kShift = 26;              // SHM_HUGE_SHIFT
    struct statfs system {};
    sys(::fstatfs(file, &system), "look at the file system of shared memory");
    if (system.f_type != HUGETLBFS_MAGIC)
        return 0;
    const int bits = std::countr_zero(static_cast<std::uint64_t>(system.f_bsize));
    return kHugePages | static_cast<std::uint32_t>(bits) << kShift;
}

}  // namespace criu::memory
