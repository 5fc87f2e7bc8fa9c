// SPDX-License-Identifier: GPL-2.0-only
// Calls of the CUDA driver API for the test programs. Programs load the library and don't link it. So they build
// without it, and run with the real one and with the one of fake/.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace cuda {

using DevicePointer = unsigned long long;

inline void* symbol(const char* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    void* const found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) {
        printf("FAIL %s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

template <typename... Args>
int try_call(const char* name, Args... args) {
    return reinterpret_cast<int (*)(Args...)>(symbol(name))(args...);
}

template <typename... Args>
void call(const char* name, Args... args) {
    const int result = try_call(name, args...);
    if (result != 0) {
        printf("FAIL %s: result %d\n", name, result);
        exit(1);
    }
}

// Makes the primary context of a device current in the calling thread.
inline void use_device(int ordinal) {
    static const bool initialized = (call("cuInit", 0U), true);
    (void)initialized;
    int device = 0;
    void* context = nullptr;
    call("cuDeviceGet", &device, ordinal);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
}

inline DevicePointer allocate(std::size_t size) {
    DevicePointer memory = 0;
    call("cuMemAlloc_v2", &memory, size);
    return memory;
}

// Returns the kernels. tick(u64* counter) adds one. spin(u64 nanoseconds, u64* counter) adds one after that time.
// fill(u64* words, u64 count, u64 seed) sets word i to (i + seed) times an odd number. check(u64* words, u64 count, u64
// seed, u64* wrong) counts wrong words. fill and check share their beginning, after which %a7 is the address of a word
// and %a6 its right value.
inline std::string kernels() {
    const std::string each = R"(
    .reg .b64 %a<11>;
    .reg .b32 %r<5>;
    .reg .pred %p;
    ld.param.u64 %a1, [words];
    cvta.to.global.u64 %a1, %a1;
    ld.param.u64 %a2, [count];
    ld.param.u64 %a3, [seed];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %a4, %r1, %r2;
    cvt.u64.u32 %a5, %r3;
    add.u64 %a4, %a4, %a5;
    setp.ge.u64 %p, %a4, %a2;
    @%p ret;
    add.u64 %a6, %a4, %a3;
    mul.lo.u64 %a6, %a6, 0x9e3779b97f4a7c15;
    shl.b64 %a7, %a4, 3;
    add.u64 %a7, %a1, %a7;
)";
    return R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry tick(.param .u64 counter)
{
    .reg .b64 %a<3>;
    ld.param.u64 %a1, [counter];
    cvta.to.global.u64 %a1, %a1;
    atom.global.add.u64 %a2, [%a1], 1;
    ret;
}
.visible .entry spin(.param .u64 nanoseconds, .param .u64 counter)
{
    .reg .b64 %a<6>;
    .reg .pred %p;
    ld.param.u64 %a1, [nanoseconds];
    mov.u64 %a2, %globaltimer;
    add.u64 %a1, %a1, %a2;
again:
    mov.u64 %a3, %globaltimer;
    setp.lt.u64 %p, %a3, %a1;
    @%p bra again;
    ld.param.u64 %a4, [counter];
    cvta.to.global.u64 %a4, %a4;
    atom.global.add.u64 %a5, [%a4], 1;
    ret;
}
.visible .entry fill(.param .u64 words, .param .u64 count, .param .u64 seed)
{)" + each +
           R"(
    st.global.u64 [%a7], %a6;
    ret;
}
.visible .entry check(.param .u64 words, .param .u64 count, .param .u64 seed, .param .u64 wrong)
{)" + each +
           R"(
    ld.global.u64 %a9, [%a7];
    setp.eq.u64 %p, %a9, %a6;
    @%p ret;
    ld.param.u64 %a8, [wrong];
    cvta.to.global.u64 %a8, %a8;
    atom.global.add.u64 %a10, [%a8], 1;
    ret;
}
)";
}

class Kernels {
public:
    Kernels() { call("cuModuleLoadData", &module_, kernels().c_str()); }

    void tick(DevicePointer counter, void* stream = nullptr) const {
        void* arguments[] = {&counter};
        launch("tick", 1, 1, arguments, stream);
    }
    void spin(std::uint64_t nanoseconds, DevicePointer counter, void* stream) const {
        void* arguments[] = {&nanoseconds, &counter};
        launch("spin", 1, 1, arguments, stream);
    }
    void fill(DevicePointer words, std::uint64_t count, std::uint64_t seed) const {
        void* arguments[] = {&words, &count, &seed};
        launch("fill", (count + kThreads - 1) / kThreads, kThreads, arguments);
    }
    void check(DevicePointer words, std::uint64_t count, std::uint64_t seed, DevicePointer wrong) const {
        void* arguments[] = {&words, &count, &seed, &wrong};
        launch("check", (count + kThreads - 1) / kThreads, kThreads, arguments);
    }

private:
    static constexpr unsigned kThreads = 256;

    void launch(const char* name, std::uint64_t blocks, unsigned threads, void** arguments,
                void* stream = nullptr) const {
        void* function = nullptr;
        call("cuModuleGetFunction", &function, module_, name);
        call("cuLaunchKernel", function, static_cast<unsigned>(blocks), 1U, 1U, threads, 1U, 1U, 0U, stream, arguments,
             static_cast<void**>(nullptr));
    }

    void* module_ = nullptr;
};

}  // namespace cuda
