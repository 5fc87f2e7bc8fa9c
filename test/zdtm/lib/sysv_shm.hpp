// SPDX-License-Identifier: GPL-2.0-only
// System V shared memory of tests.
#pragma once

#include <sys/shm.h>

#include "zdtm.hpp"

namespace zdtm {

inline std::span<std::byte> attach(int id, std::size_t size, int flags = 0) {
    void* const at = shmat(id, nullptr, flags);
    CHECK(at != reinterpret_cast<void*>(-1), "shmat: %s", strerror(errno));
    return {static_cast<std::byte*>(at), size};
}

inline shmid_ds status_of(int id) {
    shmid_ds status{};
    SYS(shmctl(id, IPC_STAT, &status));
    return status;
}

}  // namespace zdtm
