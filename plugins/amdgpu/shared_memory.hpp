// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/log.hpp"

namespace criu::amdgpu {

/// File in /dev/shm that ROCm's library shares among all its programs and protects by a semaphore.
struct SharedMemory {
    std::uint64_t size = 0;  ///< size in bytes; 0 if the dumped machine had no such file
    std::uint32_t magic = 0;
};

SharedMemory readSharedMemory();

/// Creates the file and the semaphore if they are missing.
void makeSharedMemory(const SharedMemory& wanted);

}  // namespace criu::amdgpu
