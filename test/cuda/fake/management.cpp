// SPDX-License-Identifier: GPL-2.0-only
// A libnvidia-ml.so.1 that says how much device memory nobody uses: $FAKE_CUDA_FREE, in MiB.
#include <cstdlib>

#include "control.hpp"

struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

extern "C" {

FAKE int nvmlInit_v2() {
    return 0;
}
FAKE int nvmlShutdown() {
    return 0;
}
FAKE int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 1;
    return 0;
}
FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
    *device = nullptr;
    return 0;
}
FAKE int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
    const char* const mebibytes = getenv("FAKE_CUDA_FREE");
    memory->total = 1ULL << 40;
    memory->free = mebibytes == nullptr ? memory->total : strtoull(mebibytes, nullptr, 10) << 20;
    memory->used = memory->total - memory->free;
    return 0;
}

}  // extern "C"
