// SPDX-License-Identifier: GPL-2.0-only
// Copies on a stream are done when the stream is synchronized, and not before. A caller that reads them or uses their
// buffer again too early finds other content.
#include "storage.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fake {
namespace {

struct Stream {
    int device = 0;
    std::mutex guard;
    std::deque<std::function<void()>> copies;

    void synchronize() {
        const std::lock_guard lock(guard);
        for (; !copies.empty(); copies.pop_front())
            copies.front()();
    }
};

struct Operation {
    int pid = 0;
    Command done{};
    std::vector<StoredDevice> devices;
    std::deque<Stream> streams;
    StorageInfo info{};
};

// Maps all memory of a process on one device, contiguously. Returns false if a mapping fails.
bool mapDevice(int pid, const Control& of, int device, Operation& into) {
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < of.count; ++i)
        bytes += of.allocations[i].device == device ? of.allocations[i].size : 0;
    if (bytes == 0)
        return true;
    char* const start = static_cast<char*>(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char* at = start;
    for (std::uint64_t i = 0; i < of.count; ++i) {
        const Allocation& each = of.allocations[i];
        if (each.device != device)
            continue;
        char path[100];
        snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, reinterpret_cast<unsigned long>(each.start),
                 reinterpret_cast<unsigned long>(each.start + each.size));
        const int file = open(path, O_RDWR | O_CLOEXEC);
        void* const mapped = mmap(at, each.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
        close(file);
        if (mapped == MAP_FAILED)
            return false;
        at += each.size;
    }
    Stream& stream = into.streams.emplace_back();
    stream.device = device;
    into.devices.push_back({reinterpret_cast<std::uintptr_t>(start), bytes, &stream});
    return true;
}

std::mutex hostGuard;
std::map<void*, std::size_t> hostSizes;

void unmap(const Operation& operation) {
    for (const StoredDevice& each : operation.devices)
        munmap(reinterpret_cast<void*>(each.pointer), each.bytes);
}

}  // namespace

int beginStorage(int pid, Command command, const char* name, StorageInfo** info) {
    if (driverRelease() < 615 || pid == getpid())
        return InvalidValue;
    Control of{};
    if (!readControl(pid, of))
        return NotInitialized;
    for (std::uint64_t i = 0; i < of.count; ++i)
        if (!isInitialized() || !isRetained(of.allocations[i].device))
            return InvalidContext;
    if (const int result = ask(pid, command, name, 0, &of); result != Success)
        return result;
    auto* const operation = new Operation;
    operation->pid = pid;
    operation->done = command == CheckpointStored ? CheckpointDone : RestoreDone;
    for (int device = 0; device < kMostDevices; ++device)
        if (!mapDevice(pid, of, device, *operation))
            return OsError;
    operation->info = {operation, operation->devices.data(), static_cast<std::uint32_t>(operation->devices.size()), 0};
    *info = &operation->info;
    return Success;
}

int completeStorage(void* handle) {
    auto* const operation = static_cast<Operation*>(handle);
    for (Stream& stream : operation->streams)
        stream.synchronize();
    unmap(*operation);
    const int result = ask(operation->pid, operation->done, "complete", 0);
    delete operation;
    return result;
}

}  // namespace fake

using namespace fake;

extern "C" {

int cuCtxGetDevice(int* device);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);

FAKE int cuStreamCreate(void** stream, unsigned) {
    auto* const made = new Stream;
    *stream = made;
    return cuCtxGetDevice(&made->device);
}

FAKE int cuStreamDestroy_v2(void* stream) {
    delete static_cast<Stream*>(stream);
    return Success;
}

FAKE int cuStreamSynchronize(void* stream) {
    static_cast<Stream*>(stream)->synchronize();
    return Success;
}

// Has three arguments since CUDA 12.5.
FAKE int cuStreamGetCtx_v2(void* stream, void** context, void** green) {
    const int device = static_cast<Stream*>(stream)->device;
    *green = nullptr;
    (void)cuDevicePrimaryCtxRetain(context, device);
    return cuDevicePrimaryCtxRelease_v2(device);
}

FAKE int cuMemHostAlloc(void** memory, std::size_t size, unsigned) {
    *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const std::lock_guard lock(hostGuard);
    hostSizes[*memory] = size;
    return *memory == MAP_FAILED ? OutOfMemory : Success;
}

FAKE int cuMemFreeHost(void* memory) {
    const std::lock_guard lock(hostGuard);
    munmap(memory, hostSizes[memory]);
    hostSizes.erase(memory);
    return Success;
}

FAKE int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t size, void* stream) {
    auto* const on = static_cast<Stream*>(stream);
    const std::lock_guard lock(on->guard);
    on->copies.emplace_back([=] { memcpy(reinterpret_cast<void*>(to), from, size); });
    return Success;
}

FAKE int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t size, void* stream) {
    auto* const on = static_cast<Stream*>(stream);
    const std::lock_guard lock(on->guard);
    on->copies.emplace_back([=] { memcpy(to, reinterpret_cast<const void*>(from), size); });
    return Success;
}

// Returns current versions of calls: the plain symbols of some calls have an older form.
FAKE int cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t, int*) {
    if (version > (driverRelease() >= 615 ? 13040 : 13000))
        return InvalidValue;
    Dl_info self{};
    dladdr(&control, &self);
    void* const library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    const std::string name = symbol;
    for (const char* const suffix : {"_v2", ""})
        if (void* const found = dlsym(library, (name + suffix).c_str())) {
            *function = found;
            return Success;
        }
    return NotFound;
}

}  // extern "C"
