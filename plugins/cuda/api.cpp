// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/api.hpp"

#include "criu/base/error.hpp"

namespace criu::cuda {
namespace {

constexpr const char* kDriverLibrary = "libcuda.so.1";

const char* hintFor(int result) {
    switch (result) {
        case kOutOfMemory:
            return "there isn't enough memory on the GPU, or in the machine for the GPU's contents";
        case kNotInitialized:
            return "it has no CUDA state";
        case kIllegalState:
            return "it is in another state than this needs";
        case kNotSupported:
            return "it uses something that the driver can't checkpoint: managed memory, or memory shared with other "
                   "processes or by multicast objects (start it with NCCL_P2P_DISABLE=1 NCCL_CUMEM_ENABLE=0 "
                   "NCCL_NVLS_ENABLE=0), MIG, or MPS (start it without the control daemon of MPS)";
        default:
            return nullptr;
    }
}

}  // namespace

Api::Api()
    : library(kDriverLibrary, "libcuda1"),
      getState(call("cuCheckpointProcessGetState")),
      getRestoreThread(call("cuCheckpointProcessGetRestoreThreadId")),
      lock(call("cuCheckpointProcessLock")),
      checkpoint(call("cuCheckpointProcessCheckpoint")),
      restore(call("cuCheckpointProcessRestore")),
      unlock(call("cuCheckpointProcessUnlock")),
      initialize_(library["cuInit"]),
      driverVersion_(library["cuDriverGetVersion"]),
      errorName_(library["cuGetErrorName"]) {}

SharedLibrary::Symbol Api::call(const char* name) const {
    const SharedLibrary::Symbol symbol = library.find(name);
    if (static_cast<void*>(symbol) == nullptr)
        fail("the CUDA driver is too old: {} lacks {}, which came with CUDA 12.8 (driver 570)", kDriverLibrary, name);
    return symbol;
}

int Api::version() const {
    int version = 0;
    return driverVersion_(&version) == kSuccess ? version : 0;
}

SharedLibrary::Symbol Api::formOf(const char* name, int version) const noexcept {
    int (*const find)(const char*, void**, int, std::uint64_t, int*) = library.find("cuGetProcAddress_v2");
    void* found = nullptr;
    int status = 0;
    if (find == nullptr || find(name, &found, version, 0, &status) != kSuccess)
        found = nullptr;
    return SharedLibrary::Symbol(found);
}

void Api::failed(int result, const std::string& what) const {
    const char* name = nullptr;
    if (errorName_(result, &name) != kSuccess || name == nullptr)
        name = "unknown error";
    CudaError error(result, fmt::format("{}: {} ({})", what, name, result));
    if (const char* const hint = hintFor(result))
        error.addHint(hint);
    throw error;
}

}  // namespace criu::cuda
