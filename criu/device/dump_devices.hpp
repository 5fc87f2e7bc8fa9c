// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// All subsystems of one dump. Most functions call the subsystems in order; release() and the destructor call them in
/// reverse order. The destructor must run while the processes are frozen.
class DumpDevices {
public:
    /// `pages` are the sinks for device contents.
    DumpDevices(const Subsystems& subsystems, const model::Options& options, Log& log, const ImageDir& images,
                memory::PageSinks& pages, StopRequest& stop, Refusals& refusals);
    ~DumpDevices();
    DumpDevices(const DumpDevices&) = delete;
    DumpDevices& operator=(const DumpDevices&) = delete;

    void pause(HostPid pid);
    [[nodiscard]] bool wantQuiesce();
    [[nodiscard]] bool quiesce(std::span<const HostPid> processes);
    /// Returns the name of the first subsystem whose checkpoint() will change the frozen process; empty if no subsystem
    /// will.
    [[nodiscard]] std::string_view whoCheckpoints(HostPid pid) const;
    /// Checkpoints all live processes of the tree. Calls `settled`, in the calling thread, for processes that no
    /// subsystem will change later. May omit some of these processes.
    void checkpoint(std::span<compel::FrozenProcess* const> processes, const ProcessCheckpointed& settled);
    [[nodiscard]] bool isUnusable(const MappedDevice& mapped);
    [[nodiscard]] bool claims(const MappedDevice& mapped);
    [[nodiscard]] bool claims(const files::OpenFd& file);
    /// Saves a file by the first subsystem that handles it. Throws Error if no subsystem handles it. A dry run saves
    /// nothing.
    void dump(const files::OpenFd& file, FileId id);
    [[nodiscard]] bool takesSockets() const;
    [[nodiscard]] bool takeSocket(int fd, std::uint32_t inode);
    [[nodiscard]] bool takeMount(const std::string& mountPoint, int id);
    [[nodiscard]] bool takeLink(int index, int type, const std::string& kind);
    /// Calls dumpLate() of all subsystems. Notifies `watch` of dumped contents during this call.
    void dumpLate(HostPid root, const memory::ReadWatch& watch);
    /// Returns the inventory names of the subsystems that have data in the images.
    [[nodiscard]] const std::vector<std::string>& used() const noexcept { return inventory_.names; }
    /// Calls release() of all subsystems, and then finish() of all. If a device of a resumed process doesn't work,
    /// throws Error before it calls any finish().
    void release(bool tasksResume);

private:
    struct Part {
        const Subsystem* subsystem = nullptr;
        std::unique_ptr<DeviceDump> dump;
    };
    DumpDevices(const model::Options& options, Log& log, const ImageDir& images, memory::PageSinks& pages,
                StopRequest& stop, Refusals& refusals);

    /// Returns true for a device file that a dry run can't examine, because only the checkpoint of the process closes
    /// or saves such files.
    [[nodiscard]] bool isLeftToCheckpoint(HostPid pid, const struct stat& stat) const;

    Inventory inventory_;
    std::unique_ptr<memory::ReadWatch> watch_;
    Context context_;
    std::vector<Part> parts_;
};

}  // namespace criu::device
