// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "criu/base/shared_library.hpp"
#include "plugins/cuda/driver.hpp"

/// Functions of the CUDA driver API (libcuda.so.1) that criu calls, with their arguments and results.
namespace criu::cuda {

/// Results of the API that criu handles (CUresult in the driver API's manual).
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNotInitialized = 3;
inline constexpr int kIllegalState = 401;
inline constexpr int kNotReady = 600;
inline constexpr int kNotSupported = 801;

/// Contents of a process on one GPU during a storage operation (CUDA 13.4). `address` is an address in criu's process
/// that stands for memory of the GPU.
struct StorageDevice {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    void* stream = nullptr;
};
struct StorageInfo {
    void* handle = nullptr;
    const StorageDevice* devices = nullptr;
    std::uint32_t count = 0;
    std::uint32_t reserved = 0;
};

/// Arguments of cuCheckpointProcessLock(). The arguments of each checkpoint call have 64 bytes, and reserved members
/// must be zero.
struct LockArguments {
    std::uint32_t timeoutMs = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t reserved[7] = {};
};
struct CheckpointArguments {
    /// Result of a checkpoint in storage mode (CUDA 13.4). If null, the driver copies contents to memory of the
    /// process.
    StorageInfo** storage = nullptr;
    std::uint64_t reserved[7] = {};
};
struct RestoreArguments {
    const GpuPair* pairs = nullptr;
    std::uint32_t count = 0;
    char reserved0[4] = {};
    /// Result of a restore in storage mode (CUDA 13.4). If null, the driver copies contents from memory of the process.
    StorageInfo** storage = nullptr;
    std::uint64_t reserved[5] = {};
};
static_assert(sizeof(StorageDevice) == 24 && sizeof(StorageInfo) == 24);
static_assert(sizeof(LockArguments) == 64 && sizeof(CheckpointArguments) == 64 && sizeof(RestoreArguments) == 64);
static_assert(sizeof(GpuPair) == 32);

/// Library libcuda.so.1, which the constructor loads. The constructor throws Error if the library lacks the checkpoint
/// calls. It uses the symbols without version suffix, because the checkpoint calls have the same form in all versions.
class Api {
public:
    Api();

    using Get = int (*)(int pid, int* value);
    using Do = int (*)(int pid, const void* arguments);

    const SharedLibrary library;
    const Get getState;
    const Get getRestoreThread;
    const Do lock;
    const Do checkpoint;
    const Do restore;
    const Do unlock;

    /// Calls cuInit(), and returns its result. May be called several times.
    [[nodiscard]] int initialize() const { return initialize_(0); }
    /// Returns 1000 times the major number plus 10 times the minor number of the API version. Returns 0 if the library
    /// doesn't report its version.
    [[nodiscard]] int version() const;
    /// Returns a function in the form that it has in an API version; null if the library lacks the function. Symbols
    /// without version suffix often have an old form, except the checkpoint calls.
    [[nodiscard]] SharedLibrary::Symbol formOf(const char* name, int version) const noexcept;

    /// Throws CudaError with the text "WHAT: CUDA_ERROR_… (NUMBER)" and a likely cause.
    [[noreturn]] void failed(int result, const std::string& what) const;
    void require(int result, const char* what) const {
        if (result != kSuccess)
            failed(result, what);
    }

private:
    [[nodiscard]] SharedLibrary::Symbol call(const char* name) const;

    int (*initialize_)(unsigned);
    int (*driverVersion_)(int*);
    int (*errorName_)(int, const char**);
};

}  // namespace criu::cuda
