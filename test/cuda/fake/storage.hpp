// SPDX-License-Identifier: GPL-2.0-only
// Storage mode of driver 615: the device memory of a process is mapped in the caller, which copies it.
#pragma once

#include <cstdint>

#include "control.hpp"

namespace fake {

struct StoredDevice {
    std::uint64_t pointer;
    std::uint64_t bytes;
    void* stream;
};

struct StorageInfo {
    void* handle;
    StoredDevice* devices;
    std::uint32_t count;
    std::uint32_t unused;
};
static_assert(sizeof(StoredDevice) == 24 && sizeof(StorageInfo) == 24);

struct CheckpointArguments {
    StorageInfo** storage;
    char spare[56];
};
struct RestoreArguments {
    const void* pairs;
    std::uint32_t count;
    std::uint32_t unused;
    StorageInfo** storage;
    char spare[40];
};
static_assert(sizeof(CheckpointArguments) == 64 && sizeof(RestoreArguments) == 64);

// Makes the driver's thread of a process begin, and maps its device memory here. Sets `info` to the data for the
// caller.
int beginStorage(int pid, Command command, const char* name, StorageInfo** info);
// Waits for copies, unmaps everything, and makes the thread complete the operation.
int completeStorage(void* handle);

}  // namespace fake
