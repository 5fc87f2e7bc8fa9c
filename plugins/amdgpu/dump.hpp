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

/// The name of CRIU's plugin, whose images these are.
inline constexpr std::string_view kInventoryName = "amdgpu_plugin";

/// Dump of /dev/kfd, render nodes and DMA-BUFs. Queues of a process stop when its /dev/kfd is met, that is before any
/// memory is read; buffers are matched and copied in the end, when all that refers to them is known.
class AmdgpuDump final : public device::DeviceDump {
public:
    /// `stopped` is told of processes whose queues are stopped.
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
    /// The minor of a render node of this driver, 0 for others.
    [[nodiscard]] std::uint32_t renderMinor(const struct stat& status);
    void dumpKfd(const files::OpenFd& file, FileId id);
    void use();

    void stopAndRead(DumpedProcess& process, const Kfd& kfd);
    void refuseContext(DumpedProcess& known, const files::OpenFd& file);
    void checkOwner(DumpedProcess& process);
    /// Starts the queues again that were stopped. Returns the first failure; the others are in the log.
    std::exception_ptr restartQueues() noexcept;
    void unpause(const DumpedProcess& process);

    Kernel& kernel_;
    StoppedQueues& stopped_;
    device::Context context_;
    std::function<std::uint64_t()> bufferLimit_;  ///< asked for when there is something to be copied
    DumpedTree tree_;
    std::map<dev_t, bool> ours_;
};

}  // namespace criu::amdgpu
