// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/sysv_ipc.hpp"

#include <fcntl.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {
namespace {

union SemaphoreArgument {
    int value;
    semid_ds* status;
    seminfo* info;
};

/// Returns the highest index in use; -1 or 0 if no object of this kind exists.
int highestIndex(IpcKind kind) {
    switch (kind) {
        case IpcKind::Messages: {
            msginfo info{};
            return ::msgctl(0, MSG_INFO, reinterpret_cast<msqid_ds*>(&info));
        }
        case IpcKind::Semaphores: {
            seminfo info{};
            SemaphoreArgument argument{};
            argument.info = &info;
            return ::semctl(0, 0, SEM_INFO, argument);
        }
        case IpcKind::SharedMemory:
            break;
    }
    shm_info info{};
    return ::shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&info));
}

int idAt(IpcKind kind, int index) {
    switch (kind) {
        case IpcKind::Messages: {
            msqid_ds status{};
            return ::msgctl(index, MSG_STAT, &status);
        }
        case IpcKind::Semaphores: {
            semid_ds status{};
            SemaphoreArgument argument{};
            argument.status = &status;
            return ::semctl(index, 0, SEM_STAT, argument);
        }
        case IpcKind::SharedMemory:
            break;
    }
    shmid_ds status{};
    return ::shmctl(index, SHM_STAT, &status);
}

}  // namespace

std::string_view ipcName(IpcKind kind) noexcept {
    switch (kind) {
        case IpcKind::Messages:
            return "msg";
        case IpcKind::Semaphores:
            return "sem";
        case IpcKind::SharedMemory:
            break;
    }
    return "shm";
}

std::vector<int> listIpcIds(IpcKind kind) {
    const int highest = highestIndex(kind);
    if (highest < 0)
        failErrno("list System V objects ({})", ipcName(kind));
    std::vector<int> ids;
    for (int index = 0; index <= highest; ++index) {
        const int id = idAt(kind, index);
        if (id >= 0)
            ids.push_back(id);
        else if (errno != EINVAL && errno != EIDRM)  // EINVAL and EIDRM mean that no object has this index
            failErrno("look at System V object {} ({})", index, ipcName(kind));
    }
    return ids;
}

void chooseNextIpcId(IpcKind kind, int id) {
    const std::string path = fmt::format("/proc/sys/kernel/{}_next_id", ipcName(kind));
    const UniqueFd file(sys(::open(path.c_str(), O_WRONLY | O_CLOEXEC), "open {}", path));
    const std::string text = std::to_string(id);
    sys(::write(file.get(), text.data(), text.size()), "ask for the id {} by {}", id, path);
}

}  // namespace criu::kernel
