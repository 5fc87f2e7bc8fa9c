// SPDX-License-Identifier: GPL-2.0-only
// A libnvidia-ml.so.1 that returns the memory of each GPU ($FAKE_CUDA_MEMORY, default 1 TiB) and the free part of it
// ($FAKE_CUDA_FREE, default all), in MiB. $FAKE_CUDA_FREE has a number for each GPU, separated by commas; the last one
// counts for all further GPUs. With $FAKE_CUDA_MUTE it never answers.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "control.hpp"

struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

namespace {

unsigned devices() {
    const char* const value = getenv("FAKE_CUDA_DEVICES");
    return value == nullptr ? 1 : static_cast<unsigned>(atoi(value));
}

// Returns the number at this position of a list with commas, or its last one.
unsigned long long mebibytes(const char* variable, std::uintptr_t place, unsigned long long otherwise) {
    const char* text = getenv(variable);
    if (text == nullptr)
        return otherwise;
    for (; place > 0 && strchr(text, ',') != nullptr; --place)
        text = strchr(text, ',') + 1;
    return strtoull(text, nullptr, 10);
}

}  // namespace

extern "C" {

FAKE int nvmlInit_v2() {
    while (getenv("FAKE_CUDA_MUTE") != nullptr)
        pause();
    return 0;
}
FAKE int nvmlShutdown() {
    return 0;
}
FAKE int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = devices();
    return 0;
}
FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = reinterpret_cast<void*>(std::uintptr_t{index});
    return 0;
}
FAKE int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
    snprintf(uuid, size, "GPU-fafafafa-fafa-fafa-fafa-fafafafafa%02x",
             static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)));
    return 0;
}
FAKE int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
    memory->total = mebibytes("FAKE_CUDA_MEMORY", 0, 1ULL << 20) << 20;
    memory->free = mebibytes("FAKE_CUDA_FREE", reinterpret_cast<std::uintptr_t>(device), memory->total >> 20) << 20;
    memory->used = memory->total - memory->free;
    return 0;
}

}  // extern "C"
