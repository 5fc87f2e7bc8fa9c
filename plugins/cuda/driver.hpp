// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/base/error.hpp"

/// Interface to the driver of NVIDIA GPUs. The driver itself saves and restores contents of GPUs and its own state
/// (CUDA 12.8, "CUDA Checkpointing" in the driver API's manual). A call takes the pid of another process; a thread of
/// the driver in that process does the work.
namespace criu::cuda {

/// State of a process in the driver (CUprocessState). Checkpointing and Restoring mean that a storage operation is
/// running (CUDA 13.4). Later drivers may have other values.
enum class State : int { Running = 0, Locked = 1, Checkpointed = 2, Failed = 3, Checkpointing = 4, Restoring = 5 };

/// API version from which on a restore may use other GPUs: CUDA 13.0 (driver 580). API versions are 1000 x major + 10 x
/// minor, as cuDriverGetVersion() returns them. kStorageSince is the version from which on storage mode exists: CUDA
/// 13.4 (driver 615).
inline constexpr int kMovesSince = 13000;
inline constexpr int kStorageSince = 13040;
/// Release of the kernel driver from which on it checkpoints memory that processes share by cuIpcGetMemHandle().
inline constexpr int kSharedMemorySince = 610;

/// Failure of a CUDA driver API call, with the CUresult of the call.
class CudaError : public Error {
public:
    CudaError(int result, std::string text) : Error(0, std::move(text)), result_(result) {}
    [[nodiscard]] int result() const noexcept { return result_; }

private:
    int result_;
};

/// UUID of a GPU (CUuuid).
using Uuid = std::array<std::uint8_t, 16>;

/// GPU of the dump, and a GPU of the same model that gets its contents in the restore.
struct GpuPair {
    Uuid from{};
    Uuid to{};
};

/// GPU that the kernel driver lists in /proc.
struct Gpu {
    std::string uuid;  ///< "GPU-" and 32 hexadecimal digits in groups
    std::string model;
    std::uint64_t memory = 0;  ///< bytes of memory of the GPU; 0 if unknown
};

/// Memory of a GPU, in bytes.
struct GpuMemory {
    std::uint64_t total = 0;
    std::uint64_t free = 0;  ///< unused bytes
};

class Storage;

/// Driver of this machine. Several threads may call functions with a `pid` at the same time.
class Driver {
public:
    virtual ~Driver() = default;

    /// Returns true if the driver is installed, so that processes may have CUDA state. This check is fast.
    [[nodiscard]] virtual bool isPresent() const = 0;

    /// Returns the state of a process; nullopt if the process has no CUDA state. Throws Error.
    [[nodiscard]] virtual std::optional<State> state(pid_t pid) = 0;
    /// Returns the tid of the driver's thread in the process. This thread must run while the driver works for the
    /// process.
    [[nodiscard]] virtual pid_t restoreThread(pid_t pid) = 0;
    /// Locks a running process: the driver blocks CUDA calls and waits for submitted work. If locking takes longer than
    /// `limit`, the process stays running, and the function returns false.
    [[nodiscard]] virtual bool lock(pid_t pid, std::chrono::milliseconds limit) = 0;
    /// Checkpoints a locked process: the driver copies device contents to private memory of the process, and closes the
    /// devices.
    virtual void checkpoint(pid_t pid) = 0;
    /// Restores the device contents of a checkpointed process; the process is locked afterwards. `pairs`: empty, or all
    /// GPUs that the process had.
    virtual void restore(pid_t pid, std::span<const GpuPair> pairs) = 0;
    /// Unlocks a locked process; the process is running afterwards.
    virtual void unlock(pid_t pid) = 0;

    /// Returns the storage mode; null if the driver lacks it. The first call starts CUDA in criu's process. Throws
    /// Error.
    [[nodiscard]] virtual const Storage* storage() = 0;
    /// Returns the API version of the library: 1000 times the major number plus 10 times the minor number.
    [[nodiscard]] virtual int apiVersion() = 0;
    /// gpus() returns the GPUs in the order of their PCI addresses, as nvidia-smi numbers them, without Gpu::memory.
    /// version() returns the version of the kernel driver. Both results are empty if the driver doesn't report the
    /// data.
    [[nodiscard]] virtual std::vector<Gpu> gpus() const = 0;
    [[nodiscard]] virtual std::string version() const = 0;
    /// Returns the parts into which MIG divides GPUs, such as "gpu0/gi1". The key is the minor number of the device
    /// that gives access to the part.
    [[nodiscard]] virtual std::map<int, std::string> gpuParts() const = 0;
    /// Returns the memory of each GPU, by UUID. Returns an empty map if criu can't determine it. May take tens of
    /// milliseconds.
    [[nodiscard]] virtual std::map<std::string, GpuMemory> memory() const = 0;
};

std::unique_ptr<Driver> makeDriver();

/// Returns the UUID as "GPU-" and 32 hexadecimal digits in groups.
std::string formatUuid(const Uuid& uuid);
/// Parses "GPU-" and a UUID. Throws Error for other text.
Uuid parseUuid(const std::string& text);

}  // namespace criu::cuda
