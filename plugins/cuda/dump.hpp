// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "criu/device/subsystem.hpp"
#include "plugins/cuda/contents.hpp"
#include "plugins/cuda/driver.hpp"
#include "plugins/cuda/held.hpp"
#include "plugins/cuda/libraries.hpp"
#include "plugins/cuda/together.hpp"

namespace criu::cuda {

/// The name of CRIU's plugin, which makes the driver do the same: its images and these are the same but for cuda.img.
inline constexpr std::string_view kInventoryName = "cuda_plugin";
inline constexpr const char* kImageName = "cuda.img";

/// Dump of processes with CUDA state: all are locked while everybody runs, since what one has submitted may wait for
/// another; when all stand still the driver copies what devices hold into memory of the processes, which is then dumped
/// like any other. A dump that fails, or after which the processes go on, has the driver take it back.
class CudaDump final : public device::DeviceDump {
public:
    /// `held` is told of processes that are locked.
    CudaDump(Driver& driver, LockedProcesses& held, const device::Context& context)
        : driver_(driver), lockedProcesses_(held), context_(context) {}
    ~CudaDump() override;

    [[nodiscard]] bool wantsQuiesce() override { return driver_.isPresent(); }
    bool quiesce(std::span<const HostPid> processes) override;
    void pause(HostPid pid) override;
    void checkpointAll(std::span<compel::FrozenProcess* const> processes,
                       const device::ProcessCheckpointed& settled) override;
    [[nodiscard]] bool checkpoints() const override { return !processes_.empty(); }
    [[nodiscard]] bool willCheckpoint(HostPid pid) const override { return processes_.contains(pid); }
    void dumpLate(HostPid root) override;
    void release(bool tasksResume) override;

private:
    /// What storage mode has done with a process.
    struct Stored {
        std::vector<StoredContent> contents;
        std::atomic<std::uint64_t> moved{0};  ///< bytes that have to be moved
    };
    /// Kept here, since the driver can be asked only while its thread in the process runs.
    struct Process {
        State before{};
        bool locked = false;                      ///< here, so that it has to be unlocked again
        pid_t thread = 0;                         ///< the driver's
        bool touched = false;                     ///< its checkpoint was begun
        compel::FrozenProcess* frozen = nullptr;  ///< none before it is stopped
        std::uint64_t staged = 0;                 ///< bytes of contents
        /// Of storage mode, from its checkpoint on. Shared with the thread that makes the driver's call, which may be
        /// left behind.
        std::shared_ptr<Stored> stored;
    };
    using Clock = std::chrono::steady_clock;

    /// Adds the process if it has CUDA state and isn't known.
    bool note(HostPid pid);
    /// Locks all that ran. False: one didn't come to rest, and all that were locked here run again.
    bool lockAll(Clock::time_point end);
    void readGpus();
    [[nodiscard]] bool lock(HostPid pid, Process& process, std::chrono::milliseconds limit);
    /// One that isn't known to be frozen.
    void unlock(HostPid pid, Process& process) noexcept;
    void restoreDriverState();
    void settleOthers(std::span<compel::FrozenProcess* const> all, const device::ProcessCheckpointed& settled) const;
    /// Whether contents go straight from devices into pages of the checkpoint.
    [[nodiscard]] bool wantsStorage() const;
    void storeContents(pid_t pid, Stored& stored);
    [[nodiscard]] std::function<void(pid_t)> driverCheckpointCall();
    [[nodiscard]] std::function<void(pid_t)> driverRestoreCall();

    Driver& driver_;
    LockedProcesses& lockedProcesses_;
    const device::Context& context_;
    std::map<HostPid, Process> processes_;
    const Storage* storage_ = nullptr;  ///< null: contents are copied to memory of processes
    std::atomic<std::uint32_t> nextObject_{kFirstObject};
    std::set<HostPid> others_;     ///< have libcuda in memory, and no CUDA state
    std::set<Library> libraries_;  ///< of all of them
    std::vector<Gpu> gpus_;        ///< of this machine; read as soon as there is a process with CUDA state
    bool released_ = false;
};

}  // namespace criu::cuda
