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

/// Name of CRIU's CUDA plugin in the inventory. Images of this dump differ from images of the plugin only by cuda.img:
/// in both cases, the driver copies contents to memory of the processes.
inline constexpr std::string_view kInventoryName = "cuda_plugin";
inline constexpr const char* kImageName = "cuda.img";

/// Dump of processes with CUDA state. It locks all processes before criu freezes any of them, because work of one
/// process may wait for another process. When all processes are frozen, the driver copies device contents to memory of
/// the processes. criu then dumps this memory like other memory. If the dump fails or the processes resume, the driver
/// copies the contents back.
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
    /// Contents of one process that the dump has saved in storage mode.
    struct Stored {
        std::vector<StoredContent> contents;
        std::atomic<std::uint64_t> moved{0};  ///< bytes of contents that the driver call moves
    };
    /// Process with CUDA state. The object records values of the driver, because criu can query them only while the
    /// driver's thread in the process runs.
    struct Process {
        State before{};
        bool locked = false;                      ///< true if this dump has locked the process and must unlock it
        pid_t thread = 0;                         ///< tid of the driver's thread
        bool touched = false;                     ///< true when the driver has begun to checkpoint the process
        compel::FrozenProcess* frozen = nullptr;  ///< frozen process; null before the freeze
        std::uint64_t staged = 0;                 ///< bytes of device contents, in the process' memory or in images
        /// Contents that storage mode has saved. A shared_ptr, because the thread of the driver call may still use the
        /// contents when this object is destroyed.
        std::shared_ptr<Stored> stored;
    };
    using Clock = std::chrono::steady_clock;

    /// If the process has CUDA state and isn't in `processes_`, adds it and returns true.
    bool note(HostPid pid);
    /// Locks all running processes. If a process isn't locked by `end`, unlocks all processes and returns false.
    bool lockAll(Clock::time_point end);
    void readGpus();
    /// Refuses objects that the driver can't checkpoint. Returns false if a dry run goes on after a refusal.
    [[nodiscard]] bool refuseUnsupported(std::span<const HostPid> processes);
    [[nodiscard]] bool lock(HostPid pid, Process& process, std::chrono::milliseconds limit);
    /// Unlocks a process. Skips a process whose driver thread is stopped.
    void unlock(HostPid pid, Process& process) noexcept;
    void restoreDriverState();
    /// Returns true if a process with CUDA state has the same open file descriptions of all devices that this process
    /// has open.
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
    std::set<HostPid> examined_;   ///< processes that refuseUnsupported() has examined
    bool refused_ = false;         ///< true if a dry run goes on without the driver
    bool released_ = false;
};

}  // namespace criu::cuda
