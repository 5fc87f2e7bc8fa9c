// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <exception>
#include <functional>
#include <map>

#include "criu/device/subsystem.hpp"
#include "criu/files/open_fd.hpp"
#include "plugins/amdgpu/dump_state.hpp"

namespace criu::amdgpu {

class StoppedQueues;

/// Name of CRIU's plugin. The images are those of the plugin.
inline constexpr std::string_view kInventoryName = "amdgpu_plugin";

/// Dump of /dev/kfd, render nodes and DMA-BUFs. dump() of a process' /dev/kfd stops its queues, before criu reads any
/// memory. dumpLate() matches and copies buffers, when all references to them are known.
class AmdgpuDump final : public device::DeviceDump {
public:
    /// `stopped` records processes with stopped queues.
    AmdgpuDump(Kernel& kernel, StoppedQueues& stopped, const device::Context& context,
               std::function<std::uint64_t()> bufferLimit);
    ~AmdgpuDump() override;

    bool claims(const device::MappedDevice& mapped) override;
    bool claims(const files::OpenFd& file) override;
    bool dump(const files::OpenFd& file, FileId id) override;
    void dumpLate(HostPid root) override;
    void release(bool tasksResume) override;

private:
    [[nodiscard]] bool isKfd(const struct stat& status);
    /// Returns the minor of a render node of this driver, 0 for other files.
    [[nodiscard]] std::uint32_t renderMinor(const struct stat& status);
    void useMappedOffsets(const Topology& topology);
    void dumpKfd(const files::OpenFd& file, FileId id);
    void use();

    void stopAndRead(DumpedProcess& process, const Kfd& kfd);
    void refuseContext(DumpedProcess& known, const files::OpenFd& file);
    void checkOwner(DumpedProcess& process);
    /// Starts the stopped queues. Returns the first failure and logs the others.
    std::exception_ptr restartQueues() noexcept;
    void unpause(const DumpedProcess& process);

    Kernel& kernel_;
    StoppedQueues& stopped_;
    device::Context context_;
    std::function<std::uint64_t()> bufferLimit_;  ///< called once there are contents to copy
    DumpedTree tree_;
    std::map<dev_t, bool> ours_;
};

}  // namespace criu::amdgpu
