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

/// NVIDIA GPUs. The driver itself saves and restores their contents and its own state. Its calls take the pid of
/// another process (CUDA 12.8 and later, "CUDA Checkpointing" in the driver API's manual). A thread of the driver in
/// that process carries them out.
namespace criu::cuda {

/// CUprocessState. The last two are since CUDA 13.4: a storage operation is running. Later drivers may have other
/// values.
enum class State : int { Running = 0, Locked = 1, Checkpointed = 2, Failed = 3, Checkpointing = 4, Restoring = 5 };

/// API versions as cuDriverGetVersion() returns them (1000 x major + 10 x minor). Since CUDA 13.0 (driver 580) a
/// restore may name other GPUs. Since 13.4 (driver 615) contents go directly between GPUs and images (storage mode).
inline constexpr int kMovesSince = 13000;
inline constexpr int kStorageSince = 13040;

/// Failure of a CUDA driver API call. `result`: CUresult.
class CudaError : public Error {
public:
    CudaError(int result, std::string text) : Error(0, std::move(text)), result_(result) {}
    [[nodiscard]] int result() const noexcept { return result_; }

private:
    int result_;
};

/// CUuuid: identifies a GPU.
using Uuid = std::array<std::uint8_t, 16>;

/// A GPU of the dump, and the GPU of the same chip that gets its contents.
struct GpuPair {
    Uuid from{};
    Uuid to{};
};

/// A GPU that the kernel driver lists.
struct Gpu {
    std::string uuid;  ///< "GPU-" and 32 digits in groups
    std::string model;
    std::uint64_t memory = 0;  ///< total bytes; 0: unknown
};

/// Memory of a GPU, in bytes.
struct GpuMemory {
    std::uint64_t total = 0;
    std::uint64_t free = 0;  ///< unused memory
};

class Storage;

/// The driver of this machine. Several threads may call functions with a pid at once.
class Driver {
public:
    virtual ~Driver() = default;

    /// True if processes may have CUDA state. A fast check.
    [[nodiscard]] virtual bool isPresent() const = 0;

    /// Returns nothing if the process has no CUDA state. Throws Error.
    [[nodiscard]] virtual std::optional<State> state(pid_t pid) = 0;
    /// Returns the thread that must run while the driver works for the process.
    [[nodiscard]] virtual pid_t restoreThread(pid_t pid) = 0;
    /// Running -> Locked: the driver blocks CUDA calls and waits for submitted work. False if that takes longer than
    /// `limit`; the process is Running then.
    [[nodiscard]] virtual bool lock(pid_t pid, std::chrono::milliseconds limit) = 0;
    /// Locked -> Checkpointed: the driver copies device contents to private memory of the process and closes the
    /// devices.
    virtual void checkpoint(pid_t pid) = 0;
    /// Checkpointed -> Locked. `pairs`: empty, or all GPUs that the process had.
    virtual void restore(pid_t pid, std::span<const GpuPair> pairs) = 0;
    /// Locked -> Running.
    virtual void unlock(pid_t pid) = 0;

    /// Returns the storage mode; null if the driver lacks it. This process uses GPUs from the first call on. Throws
    /// Error.
    [[nodiscard]] virtual const Storage* storage() = 0;
    /// Returns the library's CUDA API version: 1000 times the major number plus 10 times the minor one.
    [[nodiscard]] virtual int apiVersion() = 0;
    /// Return the GPUs in order of PCI addresses, as nvidia-smi numbers them, and the kernel driver's version. Empty if
    /// the driver doesn't report them. The sizes of memory aren't set.
    [[nodiscard]] virtual std::vector<Gpu> gpus() const = 0;
    [[nodiscard]] virtual std::string version() const = 0;
    /// Returns the memory of each GPU by UUID; empty if it is unknown. May take tens of milliseconds.
    [[nodiscard]] virtual std::map<std::string, GpuMemory> memory() const = 0;
};

std::unique_ptr<Driver> makeDriver();

/// Returns "GPU-" and 32 digits in groups.
std::string formatUuid(const Uuid& uuid);
/// Throws Error unless `text` is "GPU-" and a UUID.
Uuid parseUuid(const std::string& text);

}  // namespace criu::cuda
