// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/mapped_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include "criu/base/error.hpp"
#include "criu/memory/mappings/vma_status.hpp"

namespace criu::memory {

int FileCache::file(const VmaEntry& vma) {
    int flags = O_RDONLY;
    if (vma.has_fdflags != 0 && vma.fdflags != 0)
        flags = static_cast<int>(vma.fdflags) & (O_ACCMODE | O_DIRECTORY | O_LARGEFILE);
    else if (is(vma, VmaStatus::FileShared) && (vma.prot & PROT_WRITE) != 0)
        flags = O_RDWR;
    if (!fd_ || vma.shmid != file_ || flags != flags_) {
        fd_ = files_.openForMapping(vma, flags);
        file_ = vma.shmid;
        flags_ = flags;
    }
    return fd_.get();
}

int FileCache::segment(const VmaEntry& vma) {
    const int fd = files_.segment(vma);
    if (vma.has_fdflags == 0 || vma.fdflags != O_RDONLY || (vma.flags & MAP_TYPE) != MAP_SHARED)
        return fd;
    // Opens the segment read-only: with a writable description, the process could make the mapping writable by
    // mprotect(2).
    fd_.reset(sys(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC),
                  "open shared memory for reading only"));
    file_ = 0;
    return fd_.get();
}

}  // namespace criu::memory
