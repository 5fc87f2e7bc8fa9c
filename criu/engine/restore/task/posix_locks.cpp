// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/posix_locks.hpp"

#include <fcntl.h>
#include <sys/syscall.h>

#include <compel/error.hpp>
#include <compel/remote_memory.hpp>
#include <compel/remote_syscalls.hpp>

#include <span>

#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/files/file_locks.hpp"

namespace criu::engine {

std::vector<const FileLockEntry*> posixLocksOf(const RestoredFiles& files, TreePid process) {
    return files.locks().ofProcess(process);
}

void setPosixLocks(compel::RemoteSyscalls& calls, std::uint64_t room, const std::vector<const FileLockEntry*>& locks) {
    const compel::RemoteMemory memory(calls.tracee().tid());
    for (const FileLockEntry* const lock : locks) {
        const struct flock range = files::asPosixLock(*lock);
        memory.write(room, std::as_bytes(std::span(&range, 1)));
        const std::int64_t result = calls.call(SYS_fcntl, lock->fd, F_SETLK, room);
        if (compel::isSyscallError(result))
            files::failLock(static_cast<int>(-result), *lock);
    }
}

}  // namespace criu::engine
