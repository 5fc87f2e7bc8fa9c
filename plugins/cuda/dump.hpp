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

/// Name of CRIU's plugin. Its images and these differ only in cuda.img, since the driver does the same work.
inline constexpr std::string_view kInventoryName = "cuda_plugin";
inline constexpr const char* kImageName = "cuda.img";

/// Dump of processes with CUDA state. All are locked before any is frozen, since work of one may wait for another. When
/// all are frozen, the driver copies device contents to memory of the processes, which criu dumps like other memory. If
/// the dump fails or the processes resume, the driver copies contents back.
class CudaDump final : public device::DeviceDump {
public:
    /// `held` records the locked processes.
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
    bool isUnusable(const device::MappedDevice& mapped) override;
    bool claims(const device::MappedDevice& mapped) override;
    bool claims(const files::OpenFd& file) override;
    bool dump(const files::OpenFd& file, FileId id) override;
    void dumpLate(HostPid root) override;
    void release(bool tasksResume) override;

private:
    /// Contents that storage mode has saved.
    struct Stored {
        std::vector<StoredContent> contents;
        std::atomic<std::uint64_t> moved{0};  ///< bytes to move
    };
    /// Recorded state: criu can query the driver only while its thread in the process runs.
    struct Process {
        State before{};
        bool locked = false;                      ///< by this dump, which must unlock it
        pid_t thread = 0;                         ///< the driver's thread
        bool touched = false;                     ///< set when the checkpoint has begun
        compel::FrozenProcess* frozen = nullptr;  ///< null before the process is frozen
        std::uint64_t staged = 0;                 ///< bytes of contents
        /// Storage mode: set by the checkpoint. Shared with the calling thread, which may outlive this dump after a
        /// timeout.
        std::shared_ptr<Stored> stored;
    };
    using Clock = std::chrono::steady_clock;

    /// Adds the process if it has CUDA state and isn't in the list.
    bool note(HostPid pid);
    /// Locks all running processes. False if one wasn't done in time; then all are unlocked.
    bool lockAll(Clock::time_point end);
    void readGpus();
    [[nodiscard]] bool lock(HostPid pid, Process& process, std::chrono::milliseconds limit);
    /// Unlocks a process that may not be frozen.
    void unlock(HostPid pid, Process& process) noexcept;
    void restoreDriverState();
    /// True if a process with CUDA state shares all descriptors of devices that the process has open.
    [[nodiscard]] bool hasOnlyInherited(HostPid pid) const;
    void noteHeir(HostPid pid);
    void settleOthers(std::span<compel::FrozenProcess* const> all, const device::ProcessCheckpointed& settled);
    /// True if contents go directly from devices to pages of the checkpoint.
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
    std::set<HostPid> others_;  ///< processes with libcuda but without CUDA state
    std::set<HostPid> heirs_;   ///< forked from a process with CUDA state, whose devices they have open
    /// Descriptor of a device that heirs_ have open.
    struct InheritedFile {
        FileId id;
        std::string path;
    };
    std::vector<InheritedFile> inherited_;
    std::set<Library> libraries_;  ///< libraries of all processes
    std::vector<Gpu> gpus_;        ///< GPUs of this machine, read once a process has CUDA state
    bool released_ = false;
};

}  // namespace criu::cuda
