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

/// Name of CRIU's CUDA plugin in the inventory. Images of this dump differ from those of the plugin only by cuda.img,
/// because the driver does the same work.
inline constexpr std::string_view kInventoryName = "cuda_plugin";
inline constexpr const char* kImageName = "cuda.img";

/// Dumps processes with CUDA state. Locks all processes before criu freezes any, because work of one process may wait
/// for another process. When all are frozen, the driver copies device contents to memory of the processes, which criu
/// dumps like other memory. If the dump fails or the processes resume, the driver copies the contents back.
class CudaDump final : public device::DeviceDump {
public:
    /// `held`: list in which the dump records the locked processes, for the guardian.
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
    /// Contents of one process that storage mode has saved.
    struct Stored {
        std::vector<StoredContent> contents;
        std::atomic<std::uint64_t> moved{0};  ///< bytes of contents that the call moves
    };
    /// Process with CUDA state. Records values of the driver, which criu can query only while the driver's thread in
    /// the process runs.
    struct Process {
        State before{};
        bool locked = false;                      ///< true if this dump has locked the process and must unlock it
        pid_t thread = 0;                         ///< tid of the driver's thread
        bool touched = false;                     ///< true when the driver has begun to checkpoint the process
        compel::FrozenProcess* frozen = nullptr;  ///< frozen process; null before the freeze
        std::uint64_t staged = 0;                 ///< bytes of device contents, in the process' memory or in images
        /// Contents that storage mode has saved. A shared_ptr, because the thread of the driver call may still use it
        /// when this object is destroyed.
        std::shared_ptr<Stored> stored;
    };
    using Clock = std::chrono::steady_clock;

    /// Adds the process to `processes_` if it has CUDA state. Returns true if it was added.
    bool note(HostPid pid);
    /// Locks all running processes. If a process isn't locked in time, unlocks all and returns false.
    bool lockAll(Clock::time_point end);
    void readGpus();
    [[nodiscard]] bool lock(HostPid pid, Process& process, std::chrono::milliseconds limit);
    /// Unlocks a process. Skips a process whose driver thread is stopped.
    void unlock(HostPid pid, Process& process) noexcept;
    void restoreDriverState();
    /// Returns true if all device descriptors of the process refer to open file descriptions of a process with CUDA
    /// state.
    [[nodiscard]] bool hasOnlyInherited(HostPid pid) const;
    void noteHeir(HostPid pid);
    void settleOthers(std::span<compel::FrozenProcess* const> all, const device::ProcessCheckpointed& settled);
    /// Returns true if the dump should use storage mode.
    [[nodiscard]] bool wantsStorage() const;
    void storeContents(pid_t pid, Stored& stored);
    [[nodiscard]] std::function<void(pid_t)> driverCheckpointCall();
    [[nodiscard]] std::function<void(pid_t)> driverRestoreCall();

    Driver& driver_;
    LockedProcesses& lockedProcesses_;
    const device::Context& context_;
    std::map<HostPid, Process> processes_;
    const Storage* storage_ = nullptr;  ///< storage mode; null if the driver copies contents to memory of the processes
    std::atomic<std::uint32_t> nextObject_{kFirstObject};
    std::set<HostPid> others_;  ///< processes that have mapped libcuda but have no CUDA state
    std::set<HostPid> heirs_;  ///< processes with device descriptors that they inherited from a process with CUDA state
    /// Open device file that only processes of `heirs_` can restore.
    struct InheritedFile {
        FileId id;
        std::string path;
    };
    std::vector<InheritedFile> inherited_;
    std::set<Library> libraries_;  ///< driver libraries that the processes have mapped
    std::vector<Gpu> gpus_;        ///< GPUs of this machine; empty if no process has CUDA state
    bool released_ = false;
};

}  // namespace criu::cuda
