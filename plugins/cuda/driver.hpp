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

/// NVIDIA's GPUs. Their contents and the driver's own state are saved and restored by the driver: the CUDA driver API
/// has calls that take the pid of another process (CUDA 12.8 and later, "CUDA Checkpointing" in the driver API's
/// manual). They are carried out by a thread that the driver keeps in that process.
namespace criu::cuda {

/// CUprocessState. The last two came with CUDA 13.4: a storage operation is under way. Later drivers may have others.
enum class State : int { Running = 0, Locked = 1, Checkpointed = 2, Failed = 3, Checkpointing = 4, Restoring = 5 };

/// Versions of the API as cuDriverGetVersion tells them (1000 x major + 10 x minor): since CUDA 13.0 (driver 580) a
/// restore may name other GPUs, since 13.4 (driver 615) contents go straight between GPUs and images (storage mode).
inline constexpr int kMovesSince = 13000;
inline constexpr int kStorageSince = 13040;

/// A call of the CUDA driver API that failed. `result`: CUresult.
class CudaError : public Error {
public:
    CudaError(int result, std::string text) : Error(0, std::move(text)), result_(result) {}
    [[nodiscard]] int result() const noexcept { return result_; }

private:
    int result_;
};

/// CUuuid: a GPU.
using Uuid = std::array<std::uint8_t, 16>;

/// What was on one GPU goes to another of the same chip.
struct GpuPair {
    Uuid from{};
    Uuid to{};
};

/// A GPU that the kernel's driver lists.
struct Gpu {
    std::string uuid;  ///< "GPU-" and 32 digits in groups
    std::string model;
    std::uint64_t memory = 0;  ///< bytes that it has in all; 0: nobody can tell
};

/// Bytes of a GPU's memory.
struct GpuMemory {
    std::uint64_t total = 0;
    std::uint64_t free = 0;  ///< that nobody uses
};

class Storage;

/// The driver of this machine. Calls that take a pid may be made from several threads at once.
class Driver {
public:
    virtual ~Driver() = default;

    /// Whether there may be processes with CUDA state at all. Costs next to nothing.
    [[nodiscard]] virtual bool isPresent() const = 0;

    /// Nothing if the process has no CUDA state. Throws Error.
    [[nodiscard]] virtual std::optional<State> state(pid_t pid) = 0;
    /// The thread that has to run while the driver works for the process.
    [[nodiscard]] virtual pid_t restoreThread(pid_t pid) = 0;
    /// Running -> Locked: no further calls get through, and work that was submitted is done. False: that takes longer
    /// than `limit`; the process is Running.
    [[nodiscard]] virtual bool lock(pid_t pid, std::chrono::milliseconds limit) = 0;
    /// Locked -> Checkpointed: what devices hold is in ordinary memory of the process, and it has no device open.
    virtual void checkpoint(pid_t pid) = 0;
    /// Checkpointed -> Locked. `pairs`: empty, or all GPUs that the process had.
    virtual void restore(pid_t pid, std::span<const GpuPair> pairs) = 0;
    /// Locked -> Running.
    virtual void unlock(pid_t pid) = 0;

    /// What contents are moved by without a copy in memory of the process; null if the driver can't. This process uses
    /// GPUs from then on. Throws Error.
    [[nodiscard]] virtual const Storage* storage() = 0;
    /// Of the CUDA API that the library has: 1000 times the major number and 10 times the minor one.
    [[nodiscard]] virtual int apiVersion() = 0;
    /// GPUs in the order of their PCI addresses, in which nvidia-smi numbers them, and version of the kernel's driver;
    /// empty if it doesn't say. How much memory a GPU has is left out.
    [[nodiscard]] virtual std::vector<Gpu> gpus() const = 0;
    [[nodiscard]] virtual std::string version() const = 0;
    /// Of each GPU by its UUID; empty if nobody can tell. May take some ten milliseconds.
    [[nodiscard]] virtual std::map<std::string, GpuMemory> memory() const = 0;
};

std::unique_ptr<Driver> makeDriver();

/// "GPU-" and 32 digits in groups.
std::string formatUuid(const Uuid& uuid);
/// Throws Error unless `text` is "GPU-" and a UUID.
Uuid parseUuid(const std::string& text);

}  // namespace criu::cuda
