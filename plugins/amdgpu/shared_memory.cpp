// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/shared_memory.hpp"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/base/whole_io.hpp"

namespace criu::amdgpu {
namespace {

constexpr const char* kMemory = "/hsakmt_shared_mem";
constexpr const char* kSemaphore = "hsakmt_semaphore";
constexpr const char* kSemaphoreFile = "/dev/shm/sem.hsakmt_semaphore";
constexpr mode_t kMode = 0666;

}  // namespace

SharedMemory readSharedMemory() {
    SharedMemory found;
    const UniqueFd fd(::shm_open(kMemory, O_RDONLY, 0));
    if (!fd && (errno == ENOENT || errno == EACCES))
        return found;
    struct stat status {};
    sys(::fstat(sys(fd.get(), "open {} of /dev/shm", kMemory), &status), "look at {} of /dev/shm", kMemory);
    found.size = static_cast<std::uint64_t>(status.st_size);
    if (::pread(fd.get(), &found.magic, sizeof(found.magic), 0) != sizeof(found.magic))
        found.magic = 0;
    return found;
}

void makeSharedMemory(const SharedMemory& wanted) {
    if (wanted.size == 0)
        return;
    const UniqueFd fd(::shm_open(kMemory, O_RDWR | O_CREAT | O_EXCL, kMode));
    if (fd) {
        try {
            sys(::fchmod(fd.get(), kMode), "set the mode of {} of /dev/shm", kMemory);
            sys(::ftruncate(fd.get(), static_cast<off_t>(wanted.size)), "size {} of /dev/shm", kMemory);
            const ErrorContext context([] { return fmt::format("{} of /dev/shm", kMemory); });
            writeAt(fd.get(), std::as_bytes(std::span(&wanted.magic, 1)), 0);
        } catch (...) {
            ::shm_unlink(kMemory);  // another program would treat an incomplete file as complete
            throw;
        }
    } else if (errno != EEXIST) {
        failErrno("create {} in /dev/shm", kMemory);
    }
    sem_t* const semaphore = ::sem_open(kSemaphore, O_CREAT | O_EXCL, kMode, 1);
    if (semaphore == SEM_FAILED) {
        if (errno != EEXIST)
            failErrno("create the semaphore {}", kSemaphore);
        return;
    }
    ::sem_close(semaphore);
    // Other users need the semaphore, so criu sets its permissions independently of the umask.
    const UniqueFd file(::open(kSemaphoreFile, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::fchmod(file.get(), kMode) != 0) {
        const int code = errno;
        ::sem_unlink(kSemaphore);
        failWith(code, "set the mode of {}", kSemaphoreFile);
    }
}

}  // namespace criu::amdgpu
