// SPDX-License-Identifier: GPL-2.0-only
// Work of devices: kernels, streams, graphs and events. The calling thread executes it at once. A stream in capture
// mode records kernels instead.
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "control.hpp"

using namespace fake;

extern "C" {
int cuMemAlloc_v2(unsigned long long* memory, std::size_t size);
int cuStreamSynchronize(void* stream);
}

namespace {

struct Kernel {
    const char* name;
    std::uint64_t arguments[4];
};

std::mutex capturing;
std::map<void*, std::vector<Kernel>*> captured;  // by stream

const char* const kKernels[] = {"tick", "fill", "check", "spin"};
constexpr int kArguments[] = {1, 3, 4, 2};

void run(const Kernel& kernel) {
    using Words = volatile std::uint64_t*;
    auto* const words = reinterpret_cast<Words>(kernel.arguments[0]);
    if (kernel.name == kKernels[0]) {
        __atomic_fetch_add(words, 1, __ATOMIC_RELAXED);
        return;
    }
    if (kernel.name == kKernels[3]) {
        usleep(static_cast<useconds_t>(kernel.arguments[0] / 10000));
        __atomic_fetch_add(reinterpret_cast<Words>(kernel.arguments[1]), 1, __ATOMIC_RELAXED);
        return;
    }
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ULL;
    for (std::uint64_t i = 0; i < kernel.arguments[1]; ++i) {
        const std::uint64_t wanted = (i + kernel.arguments[2]) * kFactor;
        if (kernel.name == kKernels[1])
            words[i] = wanted;
        else if (words[i] != wanted)
            __atomic_fetch_add(reinterpret_cast<Words>(kernel.arguments[3]), 1, __ATOMIC_RELAXED);
    }
}

}  // namespace

extern "C" {

FAKE int cuModuleLoadData(void** module, const void*) {
    static int loaded;
    *module = &loaded;
    return Success;
}

FAKE int cuModuleGetFunction(const char** function, void*, const char* name) {
    for (const char* const known : kKernels)
        if (strcmp(known, name) == 0) {
            *function = known;
            return Success;
        }
    return NotFound;
}

FAKE int cuLaunchKernel(const char* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void* stream, void** arguments, void**) {
    const Entered entered;
    Kernel kernel{function, {}};
    for (int which = 0; which < 4; ++which)
        for (int i = 0; function == kKernels[which] && i < kArguments[which]; ++i)
            kernel.arguments[i] = *static_cast<std::uint64_t*>(arguments[i]);
    const std::lock_guard lock(capturing);
    if (const auto found = captured.find(stream); found != captured.end())
        found->second->push_back(kernel);
    else
        run(kernel);
    return Success;
}

FAKE int cuStreamBeginCapture_v2(void* stream, int) {
    const std::lock_guard lock(capturing);
    captured[stream] = new std::vector<Kernel>;
    return Success;
}

FAKE int cuStreamEndCapture(void* stream, void** graph) {
    const std::lock_guard lock(capturing);
    *graph = captured[stream];
    captured.erase(stream);
    return Success;
}

FAKE int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
    *executable = graph;
    return Success;
}

FAKE int cuGraphLaunch(void* graph, void*) {
    const Entered entered;
    for (const Kernel& each : *static_cast<std::vector<Kernel>*>(graph))
        run(each);
    return Success;
}

FAKE int cuStreamQuery(void*) {
    const Entered entered;
    return Success;
}

FAKE int cuEventCreate(void** event, unsigned) {
    *event = nullptr;
    return Success;
}

FAKE int cuEventRecord(void*, void* stream) {
    const Entered entered;
    return cuStreamSynchronize(stream);
}

FAKE int cuEventSynchronize(void*) {
    const Entered entered;
    return Success;
}

FAKE int cuMemGetAllocationGranularity(std::size_t* granularity, const void*, int) {
    *granularity = std::size_t{2} << 20;
    return Success;
}

// The reserved range already is the memory.
FAKE int cuMemAddressReserve(unsigned long long* memory, std::size_t size, std::size_t, unsigned long long,
                             unsigned long long) {
    return cuMemAlloc_v2(memory, size);
}

FAKE int cuMemCreate(unsigned long long* handle, std::size_t, const void*, unsigned long long) {
    *handle = 1;
    return Success;
}

FAKE int cuMemMap(unsigned long long, std::size_t, std::size_t, unsigned long long, unsigned long long) {
    return Success;
}

FAKE int cuMemSetAccess(unsigned long long, std::size_t, const void*, std::size_t) {
    return Success;
}

}  // extern "C"
