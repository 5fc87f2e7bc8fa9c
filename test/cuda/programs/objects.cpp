// SPDX-License-Identifier: GPL-2.0-only
// Uses the less common parts of the CUDA driver API all the time. usage: objects [managed]
//
// The parts are memory of cuMemCreate, a graph of three kernels, events, a stream that always runs a kernel, and copies
// to pinned memory beside others. Prints READY. On SIGTERM it requires every operation to have run as often as it was
// started, and prints PASS, or FAIL with the reason. With "managed" it has managed memory, too.
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "cuda_api.hpp"

namespace {

volatile sig_atomic_t asked = 0;

// Copies of CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of cuda.h.
struct Location {
    int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
    int id = 0;
};
struct AllocationProperties {
    int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
    int handleTypes = 0;
    Location location;
    void* windows = nullptr;
    unsigned char flags[8] = {};
};
struct Access {
    Location location;
    int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr std::uint64_t kWords = kBytes / 8;
constexpr std::uint64_t kSeed = 77;
constexpr std::uint64_t kSpin = 200'000'000;  // nanoseconds

// Makes memory from a reserved range and a handle that is mapped into it.
cuda::DevicePointer mappedMemory() {
    AllocationProperties properties;
    static_assert(sizeof(properties) == 32);
    std::size_t granularity = 0;
    cuda::call("cuMemGetAllocationGranularity", &granularity, static_cast<const void*>(&properties), 0);
    const std::size_t size = (kBytes + granularity - 1) / granularity * granularity;
    cuda::DevicePointer memory = 0;
    unsigned long long handle = 0;
    cuda::call("cuMemAddressReserve", &memory, size, std::size_t{0}, cuda::DevicePointer{0}, 0ULL);
    cuda::call("cuMemCreate", &handle, size, static_cast<const void*>(&properties), 0ULL);
    cuda::call("cuMemMap", memory, size, std::size_t{0}, handle, 0ULL);
    const Access access;
    static_assert(sizeof(access) == 12);
    cuda::call("cuMemSetAccess", memory, size, static_cast<const void*>(&access), std::size_t{1});
    return memory;
}

void* newStream() {
    void* stream = nullptr;
    cuda::call("cuStreamCreate", &stream, 1U);  // CU_STREAM_NON_BLOCKING
    return stream;
}

// Makes a graph that counts three times.
void* countingGraph(const cuda::Kernels& kernels, cuda::DevicePointer counter, void* stream) {
    void* graph = nullptr;
    void* executable = nullptr;
    cuda::call("cuStreamBeginCapture_v2", stream, 2);  // CU_STREAM_CAPTURE_MODE_RELAXED
    for (int i = 0; i < 3; ++i) {
        kernels.tick(counter, stream);
    }
    cuda::call("cuStreamEndCapture", stream, &graph);
    cuda::call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
    return executable;
}

}  // namespace

int main(int argc, char* argv[]) {
    signal(SIGTERM, [](int) { asked = 1; });
    cuda::use_device(0);
    const cuda::Kernels kernels;
    const cuda::DevicePointer memory = mappedMemory();
    const cuda::DevicePointer numbers = cuda::allocate(32);
    const std::uint64_t zeros[4] = {};
    cuda::call("cuMemcpyHtoD_v2", numbers, static_cast<const void*>(zeros), sizeof(zeros));
    kernels.fill(memory, kWords, kSeed);
    std::uint64_t* managed = nullptr;
    if (argc > 1 && std::string(argv[1]) == "managed") {
        cuda::DevicePointer pointer = 0;
        cuda::call("cuMemAllocManaged", &pointer, std::size_t{4096}, 1U);  // CU_MEM_ATTACH_GLOBAL
        managed = reinterpret_cast<std::uint64_t*>(pointer);
        *managed = kSeed;
    }
    std::uint64_t* seen = nullptr;
    cuda::call("cuMemHostAlloc", reinterpret_cast<void**>(&seen), std::size_t{4096}, 0U);
    void* const ofGraph = newStream();
    void* const ofSpin = newStream();
    void* const graph = countingGraph(kernels, numbers, ofGraph);
    void* event = nullptr;
    cuda::call("cuEventCreate", &event, 0U);
    cuda::call("cuCtxSynchronize");
    printf("READY %d\n", static_cast<int>(getpid()));
    fflush(stdout);

    std::uint64_t launched = 0;
    std::uint64_t spun = 0;
    bool late = false;
    while (asked == 0) {
        if (cuda::try_call("cuStreamQuery", ofSpin) == 0) {
            kernels.spin(kSpin, numbers + 16, ofSpin);
            ++spun;
        }
        cuda::call("cuGraphLaunch", graph, ofGraph);
        ++launched;
        cuda::call("cuMemcpyDtoHAsync_v2", static_cast<void*>(seen), numbers, std::size_t{8}, ofGraph);
        cuda::call("cuEventRecord", event, ofGraph);
        cuda::call("cuEventSynchronize", event);
        late = late || *seen != launched * 3;
        usleep(2000);
    }
    cuda::call("cuCtxSynchronize");
    kernels.check(memory, kWords, kSeed, numbers + 8);
    cuda::call("cuCtxSynchronize");
    std::uint64_t found[4] = {};
    cuda::call("cuMemcpyDtoH_v2", static_cast<void*>(found), numbers, sizeof(found));
    const bool right = found[0] == launched * 3 && found[1] == 0 && found[2] == spun && !late &&
                       (managed == nullptr || *managed == kSeed);
    printf("%s graphs counted %llu of %llu, spun %llu of %llu, %llu words wrong, an event came %s\n",
           right ? "PASS" : "FAIL", static_cast<unsigned long long>(found[0]),
           static_cast<unsigned long long>(launched * 3), static_cast<unsigned long long>(found[2]),
           static_cast<unsigned long long>(spun), static_cast<unsigned long long>(found[1]),
           late ? "too early" : "in time");
    fflush(stdout);
    return right ? 0 : 1;
}
