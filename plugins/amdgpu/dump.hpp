// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <optional>

#include "criu/device/subsystem.hpp"
#include "criu/files/open_fd.hpp"
#include "plugins/amdgpu/dump_state.hpp"

namespace criu::amdgpu {

class StoppedQueues;

/// Name of CRIU's plugin in the inventory. The images of this dump have the format of the plugin.
inline constexpr std::string_view kInventoryName = "amdgpu_plugin";

/// Dump of /dev/kfd, render nodes and DMA-BUFs. When dump() gets the /dev/kfd of a process, it stops the queues of the
/// process. This happens before criu reads any memory. dumpLate() matches and copies buffers, because all references to
/// them are known then.
class AmdgpuDump final : public device::DeviceDump {
public:
    /// `stopped`: list in which the dump records processes with stopped queues, for the guardian.
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
    /// Returns the minor of a render node of AMD's driver; 0 for other files.
    [[nodiscard]] std::uint32_t renderMinor(const struct stat& status);
    void useMappedOffsets(const Topology& topology);
    void dumpKfd(const files::OpenFd& file, FileId id);
    void dumpRender(const files::OpenFd& file, FileId id, std::uint32_t minor);
    [[nodiscard]] bool listsContexts(std::uint32_t minor);
    void requireOneOwner(const RenderNode& node) const;
    void use();

    void stopAndRead(DumpedProcess& process, const Kfd& kfd);
    void refuseContext(DumpedProcess& known, const files::OpenFd& file);
    void checkOwner(DumpedProcess& process);
    /// Starts all stopped queues. Returns the first exception and logs all others.
    std::exception_ptr restartQueues() noexcept;
    void unpause(const DumpedProcess& process);

    Kernel& kernel_;
    StoppedQueues& stopped_;
    std::optional<bool> listsContexts_;  ///< result of listsContexts(); none before the first render node
    device::Context context_;
    /// Function that returns the memory limit for copies; called only if there are contents to copy.
    std::function<std::uint64_t()> bufferLimit_;
    DumpedTree tree_;
    std::map<dev_t, bool> ours_;
    std::optional<dev_t> kfd_;  ///< device number of the KFD, 0 if there is none; unset until it is needed
};

}  // namespace criu::amdgpu
