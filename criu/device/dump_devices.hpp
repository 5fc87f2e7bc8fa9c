// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// All subsystems of one dump, asked in order; released, or undone by destruction, in reverse order. Destroyed while
/// the processes are still stopped.
class DumpDevices {
public:
    /// `pages`: where contents may be stored.
    DumpDevices(const Subsystems& subsystems, const model::Options& options, Log& log, const ImageDir& images,
                memory::PageSinks& pages, StopRequest& stop);
    ~DumpDevices();
    DumpDevices(const DumpDevices&) = delete;
    DumpDevices& operator=(const DumpDevices&) = delete;

    void pause(HostPid pid);
    [[nodiscard]] bool wantQuiesce();
    [[nodiscard]] bool quiesce(std::span<const HostPid> processes);
    /// The name of a subsystem whose checkpoint() will do something to a process that is stopped; empty: none does.
    [[nodiscard]] std::string_view whoCheckpoints(HostPid pid) const;
    /// All processes of the tree that are alive. `settled` is told, in the calling thread, of processes that no
    /// subsystem will change any more, though not of all of them.
    void checkpoint(std::span<compel::FrozenProcess* const> processes, const ProcessCheckpointed& settled);
    [[nodiscard]] bool claims(const MappedDevice& mapped);
    [[nodiscard]] bool claims(const files::OpenFd& file);
    /// Throws Error if no subsystem takes the file.
    void dump(const files::OpenFd& file, FileId id);
    [[nodiscard]] bool takesSockets() const;
    [[nodiscard]] bool takeSocket(int fd, std::uint32_t inode);
    [[nodiscard]] bool takeMount(const std::string& mountPoint, int id);
    [[nodiscard]] bool takeLink(int index, int type, const std::string& kind);
    /// `watch` is notified of contents that are saved; not after this call.
    void dumpLate(HostPid root, const memory::ReadWatch& watch);
    /// Inventory names of the subsystems that have something in the images.
    [[nodiscard]] const std::vector<std::string>& used() const noexcept { return inventory_.names; }
    /// Throws Error if a device of a process that goes on doesn't. Then finish() isn't called for any.
    void release(bool tasksResume);

private:
    struct Part {
        const Subsystem* subsystem = nullptr;
        std::unique_ptr<DeviceDump> dump;
    };
    DumpDevices(const model::Options& options, Log& log, const ImageDir& images, memory::PageSinks& pages,
                StopRequest& stop);

    Inventory inventory_;
    std::unique_ptr<memory::ReadWatch> watch_;
    Context context_;
    std::vector<Part> parts_;
};

}  // namespace criu::device
