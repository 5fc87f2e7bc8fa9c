// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/log.hpp"

namespace criu::amdgpu {

/// A file in /dev/shm that all users of ROCm's user library share, with a semaphore.
struct SharedMemory {
    std::uint64_t size = 0;  ///< bytes; 0 if the file doesn't exist
    std::uint32_t magic = 0;
};

SharedMemory readSharedMemory();

/// Creates the file and the semaphore if they are missing.
void makeSharedMemory(const SharedMemory& wanted);

}  // namespace criu::amdgpu
