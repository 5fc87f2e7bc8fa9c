// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/management.hpp"

#include <array>
#include <memory>

#include "criu/base/shared_library.hpp"
#include "plugins/cuda/together.hpp"

namespace criu::cuda {
namespace {

constexpr const char* kManagementLibrary = "libnvidia-ml.so.1";
/// Maximum size of a UUID as text (NVML_DEVICE_UUID_V2_BUFFER_SIZE).
constexpr unsigned kUuidSize = 96;

/// Layout of nvmlMemory_t, with numbers of bytes.
struct NvmlMemory {
    unsigned long long total = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
};

}  // namespace

std::map<std::string, GpuMemory> readGpuMemory() {
    if (!SharedLibrary::isInstalled(kManagementLibrary))
        return {};
    const SharedLibrary library(kManagementLibrary);
    int (*const start)() = library["nvmlInit_v2"];
    int (*const end)() = library["nvmlShutdown"];
    int (*const count)(unsigned*) = library["nvmlDeviceGetCount_v2"];
    int (*const device)(unsigned, void**) = library["nvmlDeviceGetHandleByIndex_v2"];
    int (*const memory)(void*, NvmlMemory*) = library["nvmlDeviceGetMemoryInfo"];
    int (*const uuid)(void*, char*, unsigned) = library["nvmlDeviceGetUUID"];
    if (start() != 0)
        return {};
    std::map<std::string, GpuMemory> found;
    unsigned devices = 0;
    bool all = count(&devices) == 0;
    for (unsigned i = 0; all && i < devices; ++i) {
        void* handle = nullptr;
        NvmlMemory bytes;
        std::array<char, kUuidSize> name{};
        all = device(i, &handle) == 0 && memory(handle, &bytes) == 0 && uuid(handle, name.data(), kUuidSize) == 0;
        found[name.data()] = {bytes.total, bytes.free};
    }
    (void)end();
    return all ? found : std::map<std::string, GpuMemory>();
}

std::map<std::string, GpuMemory> askForMemory(const Driver& driver, StopRequest& stop) {
    const auto found = std::make_shared<std::map<std::string, GpuMemory>>();
    callWithTimeout([&driver, found] { *found = driver.memory(); }, kAnswer, &stop, "ask how much memory GPUs have");
    return *found;
}

}  // namespace criu::cuda
